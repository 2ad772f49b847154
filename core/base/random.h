// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as
// 1, 2, 3", SC 2011). A number is a pure function of a key and a counter. It is therefore the same
// on every device and for any number of threads and ranks, and resuming a run needs no saved state.
//
// In Doppio a key is (seed, stream), where the stream is a hash of a purpose and a layer name such
// as Stream("dropout", "drop6"). A counter is (global sample index, element).
#ifndef DOPPIO_CORE_BASE_RANDOM_H_
#define DOPPIO_CORE_BASE_RANDOM_H_

#include <cmath>
#include <cstdint>
#include <string>

#include "core/base/host_device.h"

namespace doppio {

// Four independent 32-bit words for one counter.
struct Random4 {
  uint32_t v[4];
};

// Returns Philox4x32-10 of a 64-bit key and a 128-bit counter.
DOPPIO_HD inline Random4 Philox(uint64_t key, uint64_t counter_hi, uint64_t counter_lo) {
  uint32_t c0 = static_cast<uint32_t>(counter_lo), c1 = static_cast<uint32_t>(counter_lo >> 32);
  uint32_t c2 = static_cast<uint32_t>(counter_hi), c3 = static_cast<uint32_t>(counter_hi >> 32);
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * c0;
    const uint64_t p1 = static_cast<uint64_t>(0xCD9E8D57u) * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Maps 32 random bits to [0, 1). Uses the upper 24 bits, which a float represents exactly.
DOPPIO_HD inline float ToUnit(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// Generates the numbers of one stream. Immutable, so it can be shared by threads.
class Random {
 public:
  DOPPIO_HD Random(uint64_t seed, uint64_t stream)
      : key_(seed * 0x9E3779B97F4A7C15ull + (stream ^ (stream >> 31)) * 0xD1342543DE82EF95ull) {}

  // Returns the four words of one Philox call.
  DOPPIO_HD Random4 At(uint64_t sample, uint64_t element) const {
    return Philox(key_, sample, element);
  }
  // Returns a uniform number in [0, 1). Four consecutive elements share a Philox call.
  DOPPIO_HD float Uniform(uint64_t sample, uint64_t element) const {
    return ToUnit(At(sample, element >> 2).v[element & 3]);
  }
  // Returns 32 random bits. Four consecutive elements share a Philox call.
  DOPPIO_HD uint32_t Bits(uint64_t sample, uint64_t element) const {
    return At(sample, element >> 2).v[element & 3];
  }
  // Returns a uniform integer in [0, n), n > 0. The bias is below n / 2^32.
  DOPPIO_HD uint32_t Below(uint32_t n, uint64_t sample, uint64_t element) const {
    return static_cast<uint32_t>((static_cast<uint64_t>(Bits(sample, element)) * n) >> 32);
  }
  // Returns a standard normal number by the Box-Muller transform. Every element has its own Philox
  // call.
  DOPPIO_HD float Normal(uint64_t sample, uint64_t element) const {
    const Random4 r = At(sample, element ^ (1ull << 63));
    const float u = (static_cast<float>(r.v[0] >> 8) + 1.0f) * 0x1p-24f;  // in (0, 1]
    return sqrtf(-2.0f * logf(u)) * cosf(6.28318530718f * ToUnit(r.v[1]));
  }

 private:
  uint64_t key_;
};

// Returns the stream number of a purpose, name and index by FNV-1a: Stream("filler", "conv1", 0).
inline uint64_t Stream(const std::string& purpose, const std::string& name = "", int index = 0) {
  uint64_t h = 14695981039346656037ull;
  auto mix = [&h](unsigned char c) { h = (h ^ c) * 1099511628211ull; };
  for (char c : purpose) mix(static_cast<unsigned char>(c));
  mix(0);
  for (char c : name) mix(static_cast<unsigned char>(c));
  for (int shift = 0; shift < 32; shift += 8) mix(static_cast<unsigned char>(index >> shift));
  return h;
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_RANDOM_H_

// The update kernel: one launch over the chunks of adjacent parameters.
#ifndef DOPPIO_SOLVERS_UPDATE_UPDATE_CHUNKS_CUH_
#define DOPPIO_SOLVERS_UPDATE_UPDATE_CHUNKS_CUH_

#include <algorithm>

#include "core/device/elementwise.cuh"
#include "solvers/update/update_element.h"
#include "solvers/update/update_gate.cuh"

namespace doppio {

// Calls packed(i) for each i where a full pack begins, and single(i) for each remaining element.
// Parameters begin at multiples of a pack (core/net/store/params.h), so only the end of each
// parameter remains.
template <class T, class Packed, class Single>
__device__ void ForChunk(const Chunk& c, const Packed& packed, const Single& single) {
  constexpr int64_t kSize = kPackWidth<T>;
  const int64_t packs = c.begin % kSize == 0 ? (c.end - c.begin) / kSize : 0;
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) packed(c.begin + p * kSize);
  for (int64_t i = c.begin + packs * kSize + threadIdx.x; i < c.end; i += blockDim.x) single(i);
}

// Device pointers of an update.
template <class T>
struct Arenas {
  T* values;
  T* grads;
  T* h0;
  T* h1;  // null for rules with one slot
  // First slice with a non-finite value, in pinned memory that the host reads too.
  int* lost;
  bool keep_steps;
  const Gate* gate;  // null: the host has decided on the update
};

// Returns the rate of a chunk, including the multiplier of its parameter. `rates` holds local rates
// by slice; null if there are none.
template <class T>
DOPPIO_HD T RateOfChunk(const Chunk& c, double base_rate, const double* rates) {
  return static_cast<T>(rates == nullptr ? base_rate * c.lr_mult : rates[c.slice]);
}

// Updates the `kSize` elements of a chunk from `i` on. `rate` and `decay` include the parameter's
// multipliers. Returns true if all new values are finite.
template <class Rule, int kSize, class T>
__device__ bool UpdateAt(const Arenas<T>& a, const UpdateScalars<T>& s, const Chunk& c, T rate,
                         T decay, int64_t i) {
  constexpr bool kTwo = Rule::kSlots > 1;
  Pack<T, kSize> w = LoadPack<kSize>(a.values + i), h0 = LoadPack<kSize>(a.h0 + i), h1{}, g{},
                 steps;
  if (c.gradient) g = LoadPack<kSize>(a.grads + i + c.grad_shift);
  if (kTwo) h1 = LoadPack<kSize>(a.h1 + i);
  bool finite = true;
#pragma unroll
  for (int k = 0; k < kSize; ++k) {
    T h[kMaxSlots] = {h0.v[k], h1.v[k]};
    steps.v[k] = UpdateElement<Rule>(s, rate, decay, g.v[k], &w.v[k], h);
    h0.v[k] = h[0];
    h1.v[k] = h[1];
    finite = finite && Finite(w.v[k]);
  }
  StorePack(w, a.values + i);
  if (a.keep_steps) StorePack(steps, a.grads + i + c.grad_shift);
  StorePack(h0, a.h0 + i);
  if (kTwo) StorePack(h1, a.h1 + i);
  return finite;
}

template <class Rule, class T>
__global__ void UpdateChunks(const Chunk* chunks, int64_t count, Arenas<T> a, UpdateScalars<T> s,
                             double base_rate, double base_decay, const double* rates) {
  if (!ApplyGate(a.gate, &s)) return;
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const Chunk c = chunks[row];
    const T rate = RateOfChunk<T>(c, base_rate, rates);
    const T decay = static_cast<T>(base_decay * c.decay_mult);
    bool finite = true;
    ForChunk<T>(
        c,
        [&](int64_t i) {
          finite = UpdateAt<Rule, kPackWidth<T>>(a, s, c, rate, decay, i) && finite;
        },
        [&](int64_t i) { finite = UpdateAt<Rule, 1>(a, s, c, rate, decay, i) && finite; });
    if (!finite) atomicMin(a.lost, c.slice);
  }
}

template <class Rule, class T>
void RunChunks(const Gpu& gpu, const Chunk* chunks, int64_t count, const Arenas<T>& a,
               const UpdateScalars<T>& scalars, double base_rate, double base_decay,
               const double* rates) {
  Launch(gpu, Rule::kName, &UpdateChunks<Rule, T>, BlocksFor(count * kThreadsPerBlock), chunks,
         count, a, scalars, base_rate, base_decay, rates);
}

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_UPDATE_CHUNKS_CUH_

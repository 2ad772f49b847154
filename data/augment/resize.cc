#include "data/augment/resize.h"

#include <tmmintrin.h>

#include <algorithm>
#include <cmath>

namespace doppio {
namespace {

constexpr uint32_t kOne = 2048;

}  // namespace

void LinearTaps::SetRows(int from, int to, int begin, int count) {
  const auto n = static_cast<size_t>(count);
  first.resize(n);
  second.resize(n);
  weights.resize(n);
  const double scale = 1.0 / (static_cast<double>(to) / from);
  for (size_t i = 0; i < n; ++i) {
    // volatile forces rounding before 0.5 is subtracted: a fused multiply-add would give other
    // bits.
    const volatile double centre = (begin + static_cast<int>(i) + 0.5) * scale;
    const auto place = static_cast<float>(centre - 0.5);
    const int at = static_cast<int>(std::floor(place));
    const float part = place - static_cast<float>(at);
    first[i] = std::clamp(at, 0, from - 1);
    second[i] = std::clamp(at + 1, 0, from - 1);
    weights[i] = static_cast<uint32_t>(std::lrint((1.0f - part) * kOne)) |
                 static_cast<uint32_t>(std::lrint(part * kOne)) << 16;
  }
}

void LinearTaps::SetColumns(int from, int to, int begin, int count) {
  SetRows(from, to, begin, count);
  for (size_t i = 0; i < first.size(); ++i) {
    if (second[i] == first[i]) weights[i] = kOne;
  }
}

void ResizeAcross(const uint8_t* row, int origin, const LinearTaps& taps, int16_t* to) {
  for (size_t x = 0; x < taps.first.size(); ++x) {
    const uint8_t* at = row + taps.first[x] - origin;
    const uint32_t weights = taps.weights[x];
    to[x] = static_cast<int16_t>((at[0] * (weights & 0xffff) + at[1] * (weights >> 16)) >> 4);
  }
}

void ResizeAcross(const uint32_t* row, int origin, const LinearTaps& taps, int16_t* to) {
  // Rearranges two adjacent pixels into pairs of the same channel, each byte widened to 16 bits.
  const __m128i pairs = _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1);
  const int* const first = taps.first.data();
  const uint32_t* const weights = taps.weights.data();
  const auto pixel = [row, origin, first, weights, pairs](size_t x) {
    const auto* at = reinterpret_cast<const __m128i*>(row + first[x] - origin);
    const __m128i both = _mm_shuffle_epi8(_mm_loadl_epi64(at), pairs);
    return _mm_srli_epi32(_mm_madd_epi16(both, _mm_set1_epi32(static_cast<int>(weights[x]))), 4);
  };
  const size_t n = taps.first.size();
  size_t x = 0;
  for (; x + 2 <= n; x += 2) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 4 * x),
                     _mm_packs_epi32(pixel(x), pixel(x + 1)));
  }
  if (x < n) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 4 * x), _mm_packs_epi32(pixel(x), pixel(x)));
  }
}

void ResizeDown(const int16_t* __restrict first, const int16_t* __restrict second, uint32_t weights,
                int count, uint8_t* __restrict to) {
  const auto a = static_cast<int16_t>(weights & 0xffff), b = static_cast<int16_t>(weights >> 16);
  for (int i = 0; i < count; ++i) {
    const auto upper = static_cast<int16_t>((first[i] * a) >> 16);
    const auto lower = static_cast<int16_t>((second[i] * b) >> 16);
    to[i] = static_cast<uint8_t>((upper + lower + 2) >> 2);
  }
}

}  // namespace doppio

// Softmax over one axis of a plain array, forward and backward, for Softmax and SoftmaxWithLoss.
//
// The maximum is subtracted before the exponentials are computed. The loops process several
// positions of the inner axes together, so that they vectorise along memory for every axis. Results
// do not depend on the number of threads.
#ifndef DOPPIO_LAYERS_ACTIVATION_SOFTMAX_MATH_H_
#define DOPPIO_LAYERS_ACTIVATION_SOFTMAX_MATH_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/base/threads.h"
#include "core/net/contract/layer_spec.h"
#include "core/tensor/shape.h"
#include "layers/activation/softmax_form.h"
#include "layers/activation/softmax_shape.h"
#include "layers/common/bottom_checks.h"

namespace doppio {

// Returns the shape around axis `given` of the bottom, whose value comes from the layer's `field`.
// Throws spec.Mistake at `field` if the bottom has no such axis.
inline SoftmaxShape SoftmaxShapeAround(const LayerSpec& spec, const std::string& field, int given,
                                       const Shape& bottom) {
  const int axis = AxisOf(spec, field, given, bottom);
  return {bottom.count(0, axis), bottom[axis], bottom.count(axis + 1)};
}
// Returns the shape around the layer's softmax_param.axis. Throws spec.Mistake if there is no such
// axis.
inline SoftmaxShape SoftmaxShapeOf(const LayerSpec& spec, const Shape& bottom) {
  return SoftmaxShapeAround(spec, "softmax_param.axis", spec.param.softmax_param().axis(), bottom);
}
// Returns the layer's form. Throws spec.Mistake if the bottom has no axis softmax_param.axis.
inline SoftmaxForm SoftmaxFormOf(const LayerSpec& spec, const Shape& bottom) {
  const SoftmaxShape shape = SoftmaxShapeOf(spec, bottom);
  return {shape, bottom.canonical_axis(spec.param.softmax_param().axis())};
}

namespace softmax_internal {

// Returns e^x for x <= 0, accurate to about one unit in the last place, in a form that compilers
// vectorise. Returns 0 if the result is below the smallest normal number. NaN passes.
inline float Exp(float x) {
  const float log2e = 1.44269504089f;
  const float ln2_high = 0.693359375f,
              ln2_low = -2.12194440055e-4f;  // ln2_high has few bits, so n * ln2_high is exact
  const float round = 0x1.8p23f;             // adding it rounds to an integer, in the low bits
  const float lowest = -87.3365f;
  const float bounded = x < lowest ? lowest : x;
  const float shifted = bounded * log2e + round;
  const float n = shifted - round;
  const float r = bounded - n * ln2_high - n * ln2_low;  // |r| <= ln(2) / 2
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  uint32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127) << 23;  // 2^n; the shift drops the bits of `round` above the low bits
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return x < lowest ? 0.0f : p * power;
}
inline double Exp(double x) { return std::exp(x); }

constexpr int64_t kTile = 64;      // positions processed together
constexpr int64_t kGrain = 16384;  // elements that justify a thread

// Calls row(offset) for each sample if inner is 1, else tile(offset, width) for each run of at most
// kTile positions. `offset` is the index of the first element. Runs in parallel.
template <class Row, class Tile>
void ForEachPosition(const SoftmaxShape& s, const Row& row, const Tile& tile) {
  if (s.inner == 1) {
    ParallelForEach(s.outer, 1 + kGrain / (s.classes + 1), [&](int64_t o) { row(o * s.classes); });
    return;
  }
  const int64_t tiles = (s.inner + kTile - 1) / kTile;
  ParallelForEach(s.outer * tiles, 1 + kGrain / (s.classes * kTile + 1), [&](int64_t i) {
    const int64_t first = i % tiles * kTile;
    tile(i / tiles * s.classes * s.inner + first, std::min(kTile, s.inner - first));
  });
}

}  // namespace softmax_internal

// Writes the softmax of x to y, in parallel. `y` may be `x`.
template <class T>
void SoftmaxForward(const SoftmaxShape& s, const T* x, T* y) {
  auto row = [&](int64_t at) {
    const T* from = x + at;
    T* to = y + at;
    T max = from[0];
#pragma omp simd reduction(max : max)
    for (int64_t c = 0; c < s.classes; ++c) max = from[c] > max ? from[c] : max;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < s.classes; ++c) {
      const T e = softmax_internal::Exp(from[c] - max);
      to[c] = e;
      sum += e;
    }
#pragma omp simd
    for (int64_t c = 0; c < s.classes; ++c) to[c] /= sum;
  };
  auto tile = [&](int64_t at, int64_t width) {
    T max[softmax_internal::kTile], sum[softmax_internal::kTile];
    std::copy(x + at, x + at + width, max);
    std::fill(sum, sum + width, T(0));
    for (int64_t c = 0; c < s.classes; ++c) {
      const T* from = x + at + c * s.inner;
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) max[j] = from[j] > max[j] ? from[j] : max[j];
    }
    for (int64_t c = 0; c < s.classes; ++c) {
      const T* from = x + at + c * s.inner;
      T* to = y + at + c * s.inner;
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) {
        const T e = softmax_internal::Exp(from[j] - max[j]);
        to[j] = e;
        sum[j] += e;
      }
    }
    for (int64_t c = 0; c < s.classes; ++c) {
      T* to = y + at + c * s.inner;
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) to[j] /= sum[j];
    }
  };
  softmax_internal::ForEachPosition(s, row, tile);
}

// dx = y * (dy - sum over classes of y * dy), in parallel. `dx` may be `dy`.
template <class T>
void SoftmaxBackward(const SoftmaxShape& s, const T* y, const T* dy, T* dx) {
  auto row = [&](int64_t at) {
    T dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t c = at; c < at + s.classes; ++c) dot += y[c] * dy[c];
#pragma omp simd
    for (int64_t c = at; c < at + s.classes; ++c) dx[c] = y[c] * (dy[c] - dot);
  };
  auto tile = [&](int64_t at, int64_t width) {
    T dot[softmax_internal::kTile];
    std::fill(dot, dot + width, T(0));
    for (int64_t c = 0; c < s.classes; ++c) {
      const int64_t from = at + c * s.inner;
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) dot[j] += y[from + j] * dy[from + j];
    }
    for (int64_t c = 0; c < s.classes; ++c) {
      const int64_t from = at + c * s.inner;
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) dx[from + j] = y[from + j] * (dy[from + j] - dot[j]);
    }
  };
  softmax_internal::ForEachPosition(s, row, tile);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_SOFTMAX_MATH_H_

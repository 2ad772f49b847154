// The positions of Pooling's windows: arithmetic that the kernels of all devices share.
#ifndef DOPPIO_LAYERS_POOLING_POOLING_WINDOWS_H_
#define DOPPIO_LAYERS_POOLING_POOLING_WINDOWS_H_

#include <cstdint>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

// One of the two spatial axes.
template <class Int>
struct BasicPoolingAxis {
  Int input = 0, output = 0, kernel = 0, stride = 1, pad = 0;

  // Window i covers [Begin, End) of the input. Span is its length before padding beyond the input
  // is removed; it ends at most `pad` after the input.
  DOPPIO_HD Int Begin(Int i) const { return i * stride > pad ? i * stride - pad : 0; }
  DOPPIO_HD Int End(Int i) const {
    const Int end = i * stride - pad + kernel;
    return end < input ? end : input;
  }
  DOPPIO_HD Int Span(Int i) const {
    const Int begin = i * stride - pad, end = begin + kernel, last = input + pad;
    return (end < last ? end : last) - begin;
  }
  // Returns how far the last window extends beyond the input.
  Int overhang() const { return (output - 1) * stride - pad + kernel - input; }
};
using PoolingAxis = BasicPoolingAxis<int64_t>;

// Returns the number of windows along an axis with these extents, rounded down if `floor` is true,
// else up. If `padded` is true, i.e. either axis has padding, drops a last window that starts
// beyond the input and its left padding, like Caffe. Does not read `output`.
inline int64_t CountWindows(const PoolingAxis& a, bool floor, bool padded) {
  const int64_t room = a.input + 2 * a.pad - a.kernel;  // negative for a kernel that does not fit
  const int64_t down = room / a.stride - (room % a.stride < 0 ? 1 : 0);
  const int64_t output = down + (!floor && room % a.stride != 0 ? 1 : 0) + 1;
  return padded && (output - 1) * a.stride >= a.input + a.pad ? output - 1 : output;
}

// The windows of MAX or AVE pooling over the planes of a bottom.
struct PoolingGeometry {
  bool max = true;
  // For AVE: true if the divisor counts the padding in the window, false if only elements of the
  // input.
  bool count_padding = true;
  int64_t planes = 0;  // images x channels
  PoolingAxis h, w;

  DOPPIO_HD int64_t windows() const { return planes * h.output * w.output; }
  DOPPIO_HD int64_t elements() const { return planes * h.input * w.input; }
  // Returns the size of a saved position, in bytes. MAX saves the position of the chosen element in
  // its window, in one byte if that suffices.
  int64_t place_bytes() const {
    return h.kernel * w.kernel <= 256 ? sizeof(uint8_t) : sizeof(int32_t);
  }
};

// Returns the divisor of the sum of window (i, j).
template <class Int>
DOPPIO_HD Int MeanDivisor(bool count_padding, const BasicPoolingAxis<Int>& h,
                          const BasicPoolingAxis<Int>& w, Int i, Int j) {
  return count_padding ? h.Span(i) * w.Span(j) : (h.End(i) - h.Begin(i)) * (w.End(j) - w.Begin(j));
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_POOLING_POOLING_WINDOWS_H_

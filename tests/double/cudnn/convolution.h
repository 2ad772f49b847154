// The reference convolution of the cuDNN double: 1 to 3 spatial axes, tensors with any strides,
// groups, and both modes. Unfolds images and multiplies matrices on the calling thread.
//
// Sums are in T, which is double for tensors of doubles and float for all others. Results are dense
// arrays in the order of the dims. They are not rounded, so that a caller may add a bias or another
// tensor before StoreDense() rounds once.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_CONVOLUTION_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_CONVOLUTION_H_

#include <cstdint>
#include <vector>

#include "tests/double/cudnn/tensors.h"

namespace doppio::gpu_double {

struct ConvolutionGeometry {
  std::vector<int64_t> pads, strides, dilations;  // one entry per spatial axis
  int64_t group = 1;
  bool flipped = false;  // true: CUDNN_CONVOLUTION; false: CUDNN_CROSS_CORRELATION
  bool tf32 = false;     // round the factors of each product to TF32
  uint64_t order = 0;    // selects one of the legal summation orders of a gradient
};

// Returns the dims of y for x (N, C, spatial) and w (K, C / group, spatial); empty if x and w do
// not match.
std::vector<int64_t> ConvolvedDims(const std::vector<int64_t>& x, const std::vector<int64_t>& w,
                                   const ConvolutionGeometry& geometry);

// Returns y = x * w, with the dims of ConvolvedDims(). For tensors that are results, these
// functions use only the dims, never the `data`.
template <class T>
std::vector<T> ConvolveForward(const Strided& x, const Strided& w,
                               const ConvolutionGeometry& geometry);
// Returns the gradient of x, which has the dims `x_dims`.
template <class T>
std::vector<T> ConvolveBackwardData(const Strided& w, const Strided& dy,
                                    const std::vector<int64_t>& x_dims,
                                    const ConvolutionGeometry& geometry);
// Returns the gradient of w, which has the dims `w_dims`.
template <class T>
std::vector<T> ConvolveBackwardFilter(const Strided& x, const Strided& dy,
                                      const std::vector<int64_t>& w_dims,
                                      const ConvolutionGeometry& geometry);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_CONVOLUTION_H_

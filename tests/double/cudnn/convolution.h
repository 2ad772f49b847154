// The reference convolution of cuDNN's double: 1 to 3 spatial axes, any strides of the tensors,
// groups, and both modes. Unfolds images and multiplies matrices on the calling thread.
//
// Sums are in T, which is float, or double for tensors of doubles, whatever the tensors' types.
// Results are dense arrays in the order of the dims, not yet rounded, so that a caller may add a
// bias or another tensor before StoreDense() rounds them once.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_CONVOLUTION_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_CONVOLUTION_H_

#include <cstdint>
#include <vector>

#include "tests/double/cudnn/tensors.h"

namespace doppio::gpu_double {

struct ConvolutionGeometry {
  std::vector<int64_t> pads, strides, dilations;  // one for each spatial axis
  int64_t group = 1;
  bool flipped = false;  // CUDNN_CONVOLUTION; otherwise CUDNN_CROSS_CORRELATION
  bool tf32 = false;     // rounds the factors of each product to TF32
  uint64_t order = 0;    // of the sums of a gradient: each number chooses a legal one
};

// Dims of y for x (N, C, spatial) and w (K, C / group, spatial); empty when they do not fit
// together.
std::vector<int64_t> ConvolvedDims(const std::vector<int64_t>& x, const std::vector<int64_t>& w,
                                   const ConvolutionGeometry& geometry);

// y = x * w, of ConvolvedDims(). The `data` of tensors that are results is not used anywhere here:
// only their dims count.
template <class T>
std::vector<T> ConvolveForward(const Strided& x, const Strided& w,
                               const ConvolutionGeometry& geometry);
// The gradient of x, of `x_dims`.
template <class T>
std::vector<T> ConvolveBackwardData(const Strided& w, const Strided& dy,
                                    const std::vector<int64_t>& x_dims,
                                    const ConvolutionGeometry& geometry);
// The gradient of w, of `w_dims`.
template <class T>
std::vector<T> ConvolveBackwardFilter(const Strided& x, const Strided& dy,
                                      const std::vector<int64_t>& w_dims,
                                      const ConvolutionGeometry& geometry);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_CONVOLUTION_H_

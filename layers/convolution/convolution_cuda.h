// Convolution on a GPU by matrix products, in plain arguments: what convolution_cuda.cc, which
// knows nets, asks of convolution.cu, which nvcc compiles.
#ifndef DOPPIO_LAYERS_CONVOLUTION_CONVOLUTION_CUDA_H_
#define DOPPIO_LAYERS_CONVOLUTION_CONVOLUTION_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"
#include "layers/convolution/windows.h"

namespace doppio {

// For each of `planes` planes (an image's channel) its windows as the columns of a matrix, whose
// rows are the cells of a window. Planes have less than 2^31 pixels and less than 2^31 windows in
// all, here and below.
void LaunchUnfold(const Gpu& gpu, const AnyWindows& windows, int64_t planes, const float* x,
                  float* matrix);

// The way back: writes the sum over all windows that a pixel is in.
void LaunchFold(const Gpu& gpu, const AnyWindows& windows, int64_t planes, const float* matrix,
                float* x);

// The same for images in 16 bits whose channels come last: a row for each window of each image
// with, for each group of channels, cells and in them the channels of the group. `images` times
// channels times pixels, and windows, are less than 2^31.
struct LastUnfolding {
  AnyWindows windows;
  int64_t channels = 1, group = 1;
};
void LaunchUnfoldLast(const Gpu& gpu, const LastUnfolding& unfolding, int64_t images, const void* x,
                      void* matrix);
// From a matrix of sums in single precision to an image stored as `type`.
void LaunchFoldLast(const Gpu& gpu, const LastUnfolding& unfolding, int64_t images,
                    const float* matrix, DType type, void* x);

// Weights of a convolution: (outputs, inputs of a group, cells).
struct FilterShape {
  int64_t outputs = 0, inputs = 0, cells = 0;
  int64_t count() const { return outputs * inputs * cells; }
  bool same_in_both_orders() const { return inputs == 1 || cells == 1; }
};
// dw += from or, unless `add`, dw = from, which is stored as `type` with its inputs last.
void LaunchFilterGradient(const Gpu& gpu, const FilterShape& filter, DType type, const void* from,
                          bool add, float* dw);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_CONVOLUTION_CUDA_H_

// Convolution on a GPU by matrix products, in plain arguments: what convolution_cuda.cc, which
// knows nets, asks of convolution.cu, which nvcc compiles.
#ifndef DOPPIO_LAYERS_CONVOLUTION_CUDA_H_
#define DOPPIO_LAYERS_CONVOLUTION_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"
#include "layers/windows.h"

namespace doppio {

// For each of `planes` planes (an image's channel) its windows as the columns of a matrix, whose
// rows are the cells of a window. Planes have less than 2^31 pixels and less than 2^31 windows in
// all, here and below.
void LaunchUnfold(const Gpu& gpu, const AnyWindows& windows, int64_t planes, const float* x,
                  float* matrix);

// The way back: writes the sum over all windows that a pixel is in.
void LaunchFold(const Gpu& gpu, const AnyWindows& windows, int64_t planes, const float* matrix,
                float* x);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_CUDA_H_

// Interp on a GPU in plain arguments: what interp_cuda.cc asks of interp.cu.
#ifndef DOPPIO_LAYERS_SHAPE_INTERP_CUDA_H_
#define DOPPIO_LAYERS_SHAPE_INTERP_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/shape/interp_resize.h"

namespace doppio {

// body(i) for i in [0, n).
void LaunchResize(const Gpu& gpu, int64_t n, const ResizeForward<float>& body);
void LaunchResize(const Gpu& gpu, int64_t n, const ResizeBackward<float>& body);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_INTERP_CUDA_H_

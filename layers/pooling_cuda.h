// Pooling on a GPU, in plain arguments: what pooling_cuda.cc asks of pooling.cu.
#ifndef DOPPIO_LAYERS_POOLING_CUDA_H_
#define DOPPIO_LAYERS_POOLING_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"
#include "layers/pooling_windows.h"

namespace doppio {

// `places` takes place_bytes() for each window, `indices` the index of the chosen element in its plane; each may be
// null.
void LaunchMaxPooling(const Gpu& gpu, const PoolingGeometry& g, const float* x, float* y, void* places,
                      float* indices);
void LaunchMaxPoolingBackward(const Gpu& gpu, const PoolingGeometry& g, const float* dy, const void* places,
                              float* dx);

int64_t MeanPoolingScratchBytes(const PoolingGeometry& g);
void LaunchMeanPooling(const Gpu& gpu, const PoolingGeometry& g, const float* x, float* y, void* scratch);
void LaunchMeanPoolingBackward(const Gpu& gpu, const PoolingGeometry& g, const float* dy, float* dx);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_POOLING_CUDA_H_

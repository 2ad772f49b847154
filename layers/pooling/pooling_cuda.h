// Pooling on a GPU, in plain arguments: what pooling_cuda.cc asks of pooling.cu.
#ifndef DOPPIO_LAYERS_POOLING_POOLING_CUDA_H_
#define DOPPIO_LAYERS_POOLING_POOLING_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"
#include "layers/pooling/pooling_windows.h"

namespace doppio {

// Images that lie as height x width x channels. Plain ones are so many images of one channel.
struct PoolingForm {
  PoolingGeometry g;  // g.planes: images x channels
  int64_t channels;
  DType type;  // as bottom, top and their gradients are stored
  int64_t windows() const { return g.planes * g.h.output * g.w.output; }
  int64_t elements() const { return g.planes * g.h.input * g.w.input; }
};

// `places` takes place_bytes() for each window, `indices`, plain, the index of the chosen element
// in its plane; each may be null.
void LaunchMaxPooling(const Gpu& gpu, const PoolingForm& form, const void* x, void* y, void* places,
                      float* indices);
void LaunchMaxPoolingBackward(const Gpu& gpu, const PoolingForm& form, const void* dy,
                              const void* places, void* dx);

int64_t MeanPoolingScratchBytes(const PoolingForm& form);
void LaunchMeanPooling(const Gpu& gpu, const PoolingForm& form, const void* x, void* y,
                       void* scratch);
void LaunchMeanPoolingBackward(const Gpu& gpu, const PoolingForm& form, const void* dy, void* dx);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_POOLING_POOLING_CUDA_H_

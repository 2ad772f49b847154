// Plain poolings on a GPU in plain arguments: what kernels ask of plain_pooling.cu.
#ifndef DOPPIO_LAYERS_POOLING_PLAIN_POOLING_CUDA_H_
#define DOPPIO_LAYERS_POOLING_PLAIN_POOLING_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/pooling/plain_pooling.h"

namespace doppio {

// body(i) for i in [0, n).
void LaunchPlainPooling(const Gpu& gpu, int64_t n, const PlainPoolingForward<float>& body);
void LaunchPlainPooling(const Gpu& gpu, int64_t n, const PlainPoolingBackward<float>& body);

// Loops of a PlainPoolingKernel.
struct GpuPoolingLoops {
  explicit GpuPoolingLoops(Device* device) : device(device) {}
  template <class F>
  void Run(int64_t n, const F& body) const {
    LaunchPlainPooling(GpuOf(device), n, body);
  }
  Device* device;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_POOLING_PLAIN_POOLING_CUDA_H_

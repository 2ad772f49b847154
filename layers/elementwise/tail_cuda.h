// The tail of a matrix product or convolution on a GPU: bias, a sum with another tensor and ReLU in
// one pass over the top, and their gradients.
//
// Tensors are (outer, channels, inner) and stored as `type`; channels last has an inner of 1. Every
// function runs in the order of the device's stream.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_TAIL_CUDA_H_
#define DOPPIO_LAYERS_ELEMENTWISE_TAIL_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"

namespace doppio {

// The operations to apply, in the order bias, sum, ReLU.
struct GpuTail {
  int64_t channels = 1, inner = 1;
  const float* bias = nullptr;  // one value per channel; null: none
  const void* other = nullptr;  // a tensor to add, of the top's shape and type; null: none
  bool relu = false;
  float slope = 0;  // ReLU's slope for negative inputs

  bool empty() const { return bias == nullptr && other == nullptr && !relu; }
};

// y = relu(y + bias + other) for `outer` rows, in place. Does nothing if the tail is empty.
void LaunchTail(const Gpu& gpu, const GpuTail& tail, int64_t outer, DType type, void* y);

// Replaces dy, the gradient of ReLU's top y, by the gradient of ReLU's bottom.
void LaunchReluMask(const Gpu& gpu, float slope, DType type, int64_t n, const void* y, void* dy);
inline void LaunchReluMask(const Gpu& gpu, float slope, int64_t n, const float* y, float* dy) {
  LaunchReluMask(gpu, slope, DType::kFloat32, n, y, dy);
}

// sums[c] = the sum of dy over channel c, or adds it to sums[c] if `add` is true. Sums a few
// elements at a time in single precision, and these sums in double. `room` has ChannelSumsBytes
// bytes.
void LaunchChannelSums(const Gpu& gpu, int64_t outer, int64_t channels, int64_t inner, DType type,
                       const void* dy, bool add, float* sums, void* room);
// Combines LaunchReluMask and LaunchChannelSums in one pass: masks dy in place and sums the result.
void LaunchMaskedChannelSums(const Gpu& gpu, float slope, int64_t outer, int64_t channels,
                             int64_t inner, DType type, const void* y, void* dy, bool add,
                             float* sums, void* room);
// Returns the size of `room` for the two functions above, in bytes, for every stored type.
int64_t ChannelSumsBytes(int64_t outer, int64_t channels, int64_t inner);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_TAIL_CUDA_H_

// What comes after a matrix product or a convolution on a GPU: bias, a sum with another tensor and
// ReLU in one pass over the top, and what they need on the way back.
//
// Tensors are (outer, channels, inner), stored as `type`: channels last is an inner of 1. Every
// function runs in the order of the device's stream.
#ifndef DOPPIO_LAYERS_COMMON_TAIL_CUDA_H_
#define DOPPIO_LAYERS_COMMON_TAIL_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"

namespace doppio {

struct GpuTail {
  int64_t channels = 1, inner = 1;
  const float* bias = nullptr;  // one for each channel; null: none
  const void* other = nullptr;  // added element by element; null: nothing
  bool relu = false;
  float slope = 0;  // of ReLU below zero

  bool empty() const { return bias == nullptr && other == nullptr && !relu; }
};

// y = relu(y + bias + other) for `outer` rows; nothing when the tail is empty.
void LaunchTail(const Gpu& gpu, const GpuTail& tail, int64_t outer, DType type, void* y);

// dy = the gradient before ReLU, whose top is y.
void LaunchReluMask(const Gpu& gpu, float slope, DType type, int64_t n, const void* y, void* dy);
inline void LaunchReluMask(const Gpu& gpu, float slope, int64_t n, const float* y, float* dy) {
  LaunchReluMask(gpu, slope, DType::kFloat32, n, y, dy);
}

// sums[c] = the sum of dy over a channel, added to what is there when `add`: a few elements at a
// time in single precision, those sums in double. `room`: ChannelSumsBytes.
void LaunchChannelSums(const Gpu& gpu, int64_t outer, int64_t channels, int64_t inner, DType type,
                       const void* dy, bool add, float* sums, void* room);
// LaunchReluMask and LaunchChannelSums of the new dy, in one pass.
void LaunchMaskedChannelSums(const Gpu& gpu, float slope, int64_t outer, int64_t channels,
                             int64_t inner, DType type, const void* y, void* dy, bool add,
                             float* sums, void* room);
int64_t ChannelSumsBytes(int64_t outer, int64_t channels, int64_t inner);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_TAIL_CUDA_H_

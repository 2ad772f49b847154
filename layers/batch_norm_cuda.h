// BatchNorm, alone and in chains, on a GPU in plain arguments: what batch_norm_cuda.cc, which knows
// nets, asks of batch_norm.cu, which nvcc compiles.
#ifndef DOPPIO_LAYERS_BATCH_NORM_CUDA_H_
#define DOPPIO_LAYERS_BATCH_NORM_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/activation_ops.h"
#include "layers/channels_cuda.h"

namespace doppio {

// The layer's parameters: decayed sums of the means, of the variances, and of their weights (one
// number). All null where they are not to change.
struct RunningStatistics {
  float *mean = nullptr, *variance = nullptr, *weight = nullptr;
};

// What is subtracted from a channel, and then multiplied with.
struct Normaliser {
  float *mean, *scale;  // scale: 1 / standard deviation
};

// Bytes that the functions with `room` work in.
int64_t BatchNormRoom(const Channels& channels);

// Those of the batch; the running ones take them up.
void TakeBatchStatistics(const Gpu& gpu, const Channels& channels, const float* x, float fraction,
                         float epsilon, const RunningStatistics& state, const Normaliser& to,
                         void* room);
void TakeRunningStatistics(const Gpu& gpu, const Channels& channels, float epsilon,
                           const RunningStatistics& state, const Normaliser& to);

// y = (x - mean) * scale; y may be x.
void LaunchNormalise(const Gpu& gpu, const Channels& channels, const float* x, const Normaliser& by,
                     float* y);
// The gradient from y; dx may be dy. `mean_dy`, `mean_ydy`: per channel, to work in; null where the
// statistics are running ones, which do not depend on x.
void LaunchNormaliseBackward(const Gpu& gpu, const Channels& channels, const float* y,
                             const float* dy, const float* scale, float* mean_dy, float* mean_ydy,
                             float* dx, void* room);

// y = relu(z [+ other]) with z = (x - mean) * scale [* factor] [+ bias]. ReLU with slope 1 is none.
struct NormChain {
  Channels channels;
  Normaliser by;
  const float *factor, *bias;  // null: none
  Relu relu;

  // Minus zero is what changes no sum.
  DOPPIO_HD float Factor(int64_t c) const { return factor == nullptr ? 1.0f : factor[c]; }
  DOPPIO_HD float Bias(int64_t c) const { return bias == nullptr ? -0.0f : bias[c]; }
  DOPPIO_HD float Normal(float x, int64_t c) const { return (x - by.mean[c]) * by.scale[c]; }
  DOPPIO_HD float Affine(float normal, int64_t c) const { return normal * Factor(c) + Bias(c); }
};

void LaunchChain(const Gpu& gpu, const NormChain& chain, const float* x, const float* other,
                 float* y);

// What the sums over dz (the gradient of z) and over dz times the normalised x become.
struct ChainSums {
  SumTarget factor_grad, bias_grad;
  float *mean_dz, *mean_normal_dz;  // null: not wanted
};
// `y`: null, or ReLU's mask is taken from it and put on dy.
void LaunchChainSums(const Gpu& gpu, const NormChain& chain, const float* x, const float* y,
                     float* dy, const ChainSums& sums, void* room);
// dx from the gradient before ReLU. mean_dz, mean_normal_dz: null for running statistics; dx may be
// dy.
void LaunchChainGradient(const Gpu& gpu, const NormChain& chain, const float* x, const float* dy,
                         const float* mean_dz, const float* mean_normal_dz, float* dx);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_BATCH_NORM_CUDA_H_

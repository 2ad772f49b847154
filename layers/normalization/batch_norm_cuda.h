// BatchNorm, alone and in chains, on a GPU in plain arguments: what batch_norm_cuda.cc, which knows
// nets, asks of batch_norm.cu, which nvcc compiles. Tensors are stored as `type`, statistics and
// learned factors as float.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_CUDA_H_
#define DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/activation/activation_ops.h"
#include "layers/common/channels_cuda.h"

namespace doppio {

// The layer's parameters: decayed sums of the means, of the variances, and of their weights (one
// number). All null where they are not to change.
struct RunningStatistics {
  float *mean = nullptr, *variance = nullptr, *weight = nullptr;
};

// What is subtracted from a channel, and then multiplied with.
struct Normaliser {
  float *mean = nullptr, *scale = nullptr;  // scale: 1 / standard deviation
};

// Bytes that the functions with `room` work in.
int64_t BatchNormRoom(const Channels& channels, DType type);

// Those of the batch; the running ones take them up.
void TakeBatchStatistics(const Gpu& gpu, const Channels& channels, DType type, const void* x,
                         float fraction, float epsilon, const RunningStatistics& state,
                         const Normaliser& to, void* room);
// The same in two steps, for a batch whose parts are on several GPUs: two numbers per channel, of
// which `sums` is to hold the sums over all parts, with `positions` in all, before the second step.
void SumBatch(const Gpu& gpu, const Channels& channels, DType type, const void* x, double* sums,
              void* room);
void TakeSummedStatistics(const Gpu& gpu, const Channels& channels, const double* sums,
                          double positions, float fraction, float epsilon,
                          const RunningStatistics& state, const Normaliser& to);
void TakeRunningStatistics(const Gpu& gpu, const Channels& channels, float epsilon,
                           const RunningStatistics& state, const Normaliser& to);

// y = relu(z [+ other]) with z = (x - mean) * scale [* factor] [+ bias]. ReLU with slope 1 is none.
struct NormChain {
  Channels channels;
  DType type;
  Normaliser by;               // mean null: x is normalised already
  const float *factor, *bias;  // null: none
  Relu relu;
};

// `other`: null where there is no sum. y may be x or other.
void LaunchNorm(const Gpu& gpu, const NormChain& chain, const void* x, const void* other, void* y);

// What the sums over dz (the gradient of z) and over dz times the normalised x become.
struct NormSums {
  SumTarget factor_grad, bias_grad;
  float *mean_dz = nullptr, *mean_normal_dz = nullptr;  // null: not wanted
  // Not null: the two sums of each channel go there, and what mean_dz and mean_normal_dz are to be
  // LaunchNormMeans finds when they are sums over all parts of the batch.
  double* part = nullptr;
  bool any() const {
    return factor_grad.to != nullptr || bias_grad.to != nullptr || mean_dz != nullptr;
  }
};
// `y`: null, or ReLU's mask is taken from it and put on dy.
void LaunchNormSums(const Gpu& gpu, const NormChain& chain, const void* x, const void* y, void* dy,
                    const NormSums& sums, void* room);
void LaunchNormMeans(const Gpu& gpu, const Channels& channels, double positions,
                     const NormSums& sums);
// dx from the gradient before ReLU. mean_dz, mean_normal_dz: null for running statistics, which do
// not depend on x. x: null where neither they nor ReLU ask for it. dx may be dy.
void LaunchNormGradient(const Gpu& gpu, const NormChain& chain, const void* x, const void* dy,
                        const float* mean_dz, const float* mean_normal_dz, void* dx);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_CUDA_H_

#include "layers/common/channel_sums.cuh"
#include "layers/elementwise/scale_bias_cuda.h"

namespace doppio {
namespace {

constexpr char kName[] = "Scale";

struct Affine {
  float scale, bias;
  DOPPIO_HD float operator()(const float (&in)[1]) const { return in[0] * scale + bias; }
};
struct Affines {
  const float *scale, *bias;
  // Minus zero is what changes no sum.
  DOPPIO_HD Affine operator()(int64_t c) const {
    return {scale == nullptr ? 1.0f : scale[c], bias == nullptr ? -0.0f : bias[c]};
  }
};

// Of x and dy.
struct Terms {
  float scale;
  DOPPIO_HD TwoTerms operator()(const float (&in)[2], float* dx) const {
    *dx = in[1] * scale;
    return {in[0] * in[1], in[1]};
  }
};
struct TermsBy {
  static constexpr bool kWrites = true;
  const float* scale;
  DOPPIO_HD Terms operator()(int64_t c) const { return {scale == nullptr ? 1.0f : scale[c]}; }
};
struct StoreSums {
  SumTarget scale_grad, bias_grad;
  DOPPIO_HD void operator()(int64_t c, const TwoSums& sums) const {
    scale_grad.Store(c, sums.first);
    bias_grad.Store(c, sums.second);
  }
};

}  // namespace

void LaunchScaleBias(const Gpu& gpu, const Channels& v, DType type, const void* x,
                     const float* scale, const float* bias, void* y) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    MapChannels(gpu, v, kName, static_cast<T*>(y), Affines{scale, bias}, static_cast<const T*>(x));
  });
}

int64_t ScaleBiasRoom(const Channels& channels, DType type) {
  return DispatchStored(type,
                        [&](auto zero) { return SumChannelsBytes<decltype(zero)>(channels); });
}

void LaunchScaleBiasSums(const Gpu& gpu, const Channels& v, DType type, const void* x,
                         const void* dy, const float* scale, void* dx, const SumTarget& scale_grad,
                         const SumTarget& bias_grad, void* room) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    SumChannels(gpu, v, kName, static_cast<T*>(dx), TermsBy{scale},
                StoreSums{scale_grad, bias_grad}, room, static_cast<const T*>(x),
                static_cast<const T*>(dy));
  });
}

}  // namespace doppio

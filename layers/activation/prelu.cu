#include "layers/common/channel_sums.cuh"
#include "layers/activation/prelu_cuda.h"

namespace doppio {
namespace {

constexpr char kName[] = "PReLU";

// Calls of x, and of x and dy.
struct Slope {
  float slope;
  DOPPIO_HD float operator()(const float (&in)[1]) const {
    return in[0] > 0 ? in[0] : slope * in[0];
  }
  DOPPIO_HD float operator()(const float (&in)[2]) const {
    return in[1] * (in[0] > 0 ? 1.0f : slope);
  }
  DOPPIO_HD TwoTerms operator()(const float (&in)[2], float* dx) const {
    *dx = (*this)(in);
    return {(in[0] > 0 ? 0.0f : in[0]) * in[1], 0};
  }
};
struct Slopes {
  static constexpr bool kWrites = true;
  const float* slopes;
  DOPPIO_HD Slope operator()(int64_t c) const { return {slopes[c]}; }
};
struct StoreSum {
  SumTarget to;
  DOPPIO_HD void operator()(int64_t c, const TwoSums& sums) const { to.Store(c, sums.first); }
};

}  // namespace

void LaunchPrelu(const Gpu& gpu, const Channels& v, DType type, const void* x, const float* slope,
                 void* y) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    MapChannels(gpu, v, kName, static_cast<T*>(y), Slopes{slope}, static_cast<const T*>(x));
  });
}

void LaunchPreluGradient(const Gpu& gpu, const Channels& v, DType type, const void* x,
                         const void* dy, const float* slope, void* dx) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    MapChannels(gpu, v, kName, static_cast<T*>(dx), Slopes{slope}, static_cast<const T*>(x),
                static_cast<const T*>(dy));
  });
}

int64_t PreluRoom(const Channels& channels, DType type) {
  return DispatchStored(type,
                        [&](auto zero) { return SumChannelsBytes<decltype(zero)>(channels); });
}

void LaunchPreluSums(const Gpu& gpu, const Channels& v, DType type, const void* x, const void* dy,
                     const float* slope, void* dx, const SumTarget& slope_grad, void* room) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    SumChannels(gpu, v, kName, static_cast<T*>(dx), Slopes{slope}, StoreSum{slope_grad}, room,
                static_cast<const T*>(x), static_cast<const T*>(dy));
  });
}

}  // namespace doppio

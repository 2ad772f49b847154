#include "core/device/elementwise.cuh"
#include "layers/activation/activation_ops.h"
#include "layers/common/channel_sums.cuh"
#include "layers/common/divider.h"
#include "layers/elementwise/tail_cuda.h"

namespace doppio {
namespace {

template <class T>
struct TailBody {
  Divider<int32_t> by_inner, by_channels;
  int32_t inner, channels;
  const float* bias;
  const T* other;
  bool with_relu;
  Relu relu;
  T* y;

  template <int kWidth>
  __host__ __device__ void Run(int64_t first) const {
    const int32_t i = static_cast<int32_t>(first), run = by_inner(i);
    int32_t c = run - by_channels(run) * channels, at = i - run * inner;
    Pack<T, kWidth> values = LoadPack<kWidth>(y + first), others{};
    if (other != nullptr) others = LoadPack<kWidth>(other + first);
    for (int lane = 0; lane < kWidth; ++lane) {
      float v = static_cast<float>(values.v[lane]);
      if (bias != nullptr) v += bias[c];
      if (other != nullptr) v += static_cast<float>(others.v[lane]);
      values.v[lane] = static_cast<T>(with_relu ? relu.Forward(v) : v);
      if (++at == inner) {
        at = 0;
        if (++c == channels) c = 0;
      }
    }
    StorePack(values, y + first);
  }
};

template <class T>
static void Tail(const Gpu& gpu, const GpuTail& tail, int64_t outer, T* y) {
  const int64_t row = tail.channels * tail.inner;
  // Process whole rows at a time, so that an index within them has 32 bits. Except for tiny chunks,
  // use a multiple of eight rows, so that the next chunk is aligned for packs.
  int64_t rows = std::max<int64_t>(1, INT32_MAX / std::max<int64_t>(1, row));
  if (rows > 8) rows -= rows % 8;
  for (int64_t first = 0; first < outer; first += rows) {
    const int64_t skipped = first * row;
    const T* other = tail.other == nullptr ? nullptr : static_cast<const T*>(tail.other) + skipped;
    const TailBody<T> body{Divider<int32_t>(tail.inner),
                           Divider<int32_t>(tail.channels),
                           static_cast<int32_t>(tail.inner),
                           static_cast<int32_t>(tail.channels),
                           tail.bias,
                           other,
                           tail.relu,
                           Relu(tail.slope),
                           y + skipped};
    ForEachPack<kPackWidth<T>>(gpu, std::min(rows, outer - first) * row,
                               PacksAligned(body.y, other), "bias and ReLU", body);
  }
}

template <class T>
static void Mask(const Gpu& gpu, float slope, int64_t n, const T* y, T* dy) {
  const Relu relu(slope);
  MapElements(
      gpu, n, "the gradient of ReLU", dy,
      DOPPIO_BODY(float value, float d) { return relu.Gradient(value, d); }, y, dy);
}

// The terms of a bias's gradient, for SumChannels. The second sum is unused.
struct PlainTerms {
  static constexpr bool kWrites = false;
  struct Of {
    __host__ __device__ TwoTerms operator()(const float (&in)[1], float*) const {
      return {in[0], 0};
    }
  };
  __host__ __device__ Of operator()(int64_t) const { return {}; }
};

// The terms of a bias's gradient behind ReLU. Applies the mask of ReLU, given by y, to dy, and
// writes the masked gradient over dy.
struct MaskedTerms {
  static constexpr bool kWrites = true;
  float slope;
  struct Of {
    float slope;
    __host__ __device__ TwoTerms operator()(const float (&in)[2], float* out) const {
      *out = Relu(slope).Gradient(in[0], in[1]);
      return {*out, 0};
    }
  };
  __host__ __device__ Of operator()(int64_t) const { return {slope}; }
};

Channels View(int64_t outer, int64_t channels, int64_t inner) {
  return Channels(Shape{outer, channels, inner}, 1, 2);
}

constexpr const char* kSums = "sums over channels";

}  // namespace

void LaunchTail(const Gpu& gpu, const GpuTail& tail, int64_t outer, DType type, void* y) {
  if (tail.empty()) return;
  DispatchStored(type, [&](auto zero) { Tail(gpu, tail, outer, static_cast<decltype(zero)*>(y)); });
}

void LaunchReluMask(const Gpu& gpu, float slope, DType type, int64_t n, const void* y, void* dy) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    Mask(gpu, slope, n, static_cast<const T*>(y), static_cast<T*>(dy));
  });
}

void LaunchChannelSums(const Gpu& gpu, int64_t outer, int64_t channels, int64_t inner, DType type,
                       const void* dy, bool add, float* sums, void* room) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    SumChannels(gpu, View(outer, channels, inner), kSums, static_cast<T*>(nullptr), PlainTerms(),
                StoreFirst{{sums, add}}, room, static_cast<const T*>(dy));
  });
}

void LaunchMaskedChannelSums(const Gpu& gpu, float slope, int64_t outer, int64_t channels,
                             int64_t inner, DType type, const void* y, void* dy, bool add,
                             float* sums, void* room) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    SumChannels(gpu, View(outer, channels, inner), kSums, static_cast<T*>(dy), MaskedTerms{slope},
                StoreFirst{{sums, add}}, room, static_cast<const T*>(y), static_cast<const T*>(dy));
  });
}

int64_t ChannelSumsBytes(int64_t outer, int64_t channels, int64_t inner) {
  const Channels view = View(outer, channels, inner);
  return std::max(SumChannelsBytes<float>(view), SumChannelsBytes<Half>(view));
}

}  // namespace doppio

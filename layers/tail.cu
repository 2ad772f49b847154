#include "core/device/elementwise.cuh"
#include "layers/activation_ops.h"
#include "layers/divider.h"
#include "layers/tail_cuda.h"

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
  // Whole rows at a time, so that an index within them has 32 bits; eights of them, so that packs
  // fit again.
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
    ForEachPack<kPackWidth<T>>(gpu, std::min(rows, outer - first) * row, PacksFit(body.y, other),
                               "bias and ReLU", body);
  }
}

template <class T>
static void Mask(const Gpu& gpu, float slope, int64_t n, const T* y, T* dy) {
  const Relu relu(slope);
  MapElements(
      gpu, n, "the gradient of ReLU", dy,
      DOPPIO_BODY(float value, float d) { return relu.Gradient(value, d); }, y, dy);
}

// Sums over the rows of a matrix: neighbouring threads take neighbouring packs of channels, and
// `parts` of them share the rows.
template <class T, int kWidth>
static void SumColumns(const Gpu& gpu, int64_t rows, int64_t channels, int64_t parts, const T* dy,
                       double* partial) {
  const int64_t packs = channels / kWidth;
  ForEachIndex(
      gpu, parts * packs, "sums over channels", DOPPIO_BODY(int64_t index) {
        const int64_t part = index / packs, c = (index - part * packs) * kWidth;
        const int64_t end = rows * (part + 1) / parts;
        double sums[kWidth] = {};
        for (int64_t row = rows * part / parts; row < end; ++row) {
          const Pack<T, kWidth> pack = LoadPack<kWidth>(dy + row * channels + c);
          for (int lane = 0; lane < kWidth; ++lane)
            sums[lane] += static_cast<double>(static_cast<float>(pack.v[lane]));
        }
        for (int lane = 0; lane < kWidth; ++lane) partial[part * channels + c + lane] = sums[lane];
      });
}

// Parts of rows that lie side by side.
int64_t PartsOf(int64_t rows, int64_t channels) {
  constexpr int64_t kThreads = 1 << 17, kLeastRows = 16, kMost = 1024;
  const int64_t threads = std::max<int64_t>(1, channels / 8);
  return std::clamp<int64_t>(std::min(kThreads / threads, rows / kLeastRows), 1, kMost);
}

template <class T, class Int>
static void SumChannels(const Gpu& gpu, int64_t outer, int64_t channels, int64_t inner, const T* dy,
                        bool add, float* sums, void* room) {
  const auto finish = DOPPIO_BODY(int64_t c, double sum) {
    sums[c] = static_cast<float>(add ? sums[c] + sum : sum);
  };
  if (inner == 1) {
    const int64_t parts = PartsOf(outer, channels);
    double* partial = static_cast<double*>(room);
    constexpr int kWidth = kPackWidth<T>;
    if (channels % kWidth == 0 && PacksFit(dy)) {
      SumColumns<T, kWidth>(gpu, outer, channels, parts, dy, partial);
    } else {
      SumColumns<T, 1>(gpu, outer, channels, parts, dy, partial);
    }
    // At most 1024 parts: no room is needed.
    ReduceRows(
        gpu, channels, parts, "sums over channels", 0.0,
        DOPPIO_BODY(int64_t c, int64_t part) { return partial[part * channels + c]; }, Plus(),
        finish, nullptr);
    return;
  }
  const Divider<Int> by_inner(inner);
  const auto at = DOPPIO_BODY(int64_t c, int64_t j) {
    const int64_t row = by_inner(static_cast<Int>(j));
    return static_cast<double>(
        static_cast<float>(dy[(row * channels + c) * inner + (j - row * inner)]));
  };
  ReduceRows(gpu, channels, outer * inner, "sums over channels", 0.0, at, Plus(), finish, room);
}

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
  WithIndexFor(outer * inner, [&](auto index) {
    DispatchStored(type, [&](auto zero) {
      using T = decltype(zero);
      SumChannels<T, decltype(index)>(gpu, outer, channels, inner, static_cast<const T*>(dy), add,
                                      sums, room);
    });
  });
}

int64_t ChannelSumsBytes(int64_t outer, int64_t channels, int64_t inner) {
  if (inner == 1) return PartsOf(outer, channels) * channels * static_cast<int64_t>(sizeof(double));
  return ReduceRowsBytes<double>(channels, outer * inner);
}

}  // namespace doppio

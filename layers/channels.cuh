// Loops over Channels: one value per element, and two sums per channel. Only for .cu files; static
// as in core/device/launch.cuh.
#ifndef DOPPIO_LAYERS_CHANNELS_CUH_
#define DOPPIO_LAYERS_CHANNELS_CUH_

#include <initializer_list>
#include <utility>

#include "core/device/launch.cuh"
#include "layers/channels_cuda.h"

namespace doppio {
namespace channel_loops {

// Neighbouring elements that one thread reads and writes at once.
template <int kWidth>
struct alignas(kWidth * sizeof(float)) Pack {
  float v[kWidth];
};

// Everything is read before anything is written, so that `out` may be any of the inputs.
template <class F, int kInputs, int kWidth>
struct MapBody {
  const float* in[kInputs];
  float* out;
  Channels channels;
  F f;

  __host__ __device__ void operator()(int64_t index) const {
    const int64_t i = index * kWidth;
    Pack<kWidth> from[kInputs], to;
    for (int k = 0; k < kInputs; ++k) from[k] = *reinterpret_cast<const Pack<kWidth>*>(in[k] + i);
    const int64_t c = channels.Of(i);
    for (int lane = 0; lane < kWidth; ++lane) {
      to.v[lane] = Apply(c, from, lane, std::make_integer_sequence<int, kInputs>());
    }
    *reinterpret_cast<Pack<kWidth>*>(out + i) = to;
  }

 private:
  template <int... k>
  __host__ __device__ float Apply(int64_t c, const Pack<kWidth>* from, int lane,
                                  std::integer_sequence<int, k...>) const {
    return f(c, from[k].v[lane]...);
  }
};

// Rows of few neighbours are added up for all channels side by side, so that threads read
// neighbours.
constexpr int64_t kLongRun = 32;
constexpr int64_t kManyLanes = 256;
inline bool SideBySide(const Channels& v) {
  return v.inner() < kLongRun && v.channels() * v.inner() >= kManyLanes &&
         v.outer() > launch::kShortRow;
}
inline int64_t PartsOf(const Channels& v) {
  constexpr int64_t kThreads = 1 << 16, kLeast = 8, kMost = 64;
  const int64_t lanes = v.channels() * v.inner();
  return std::clamp<int64_t>(std::min(kThreads / lanes, v.outer() / kLeast), 1, kMost);
}

}  // namespace channel_loops

// out[i] = f(channel of i, in[i]...) for every element; `out` may be any of `in`.
template <class F, class... In>
static void MapChannels(const Gpu& gpu, const Channels& v, const char* what, float* out, const F& f,
                        const In*... in) {
  constexpr int kInputs = sizeof...(In), kWide = 4;
  bool wide = v.inner() % kWide == 0;
  for (const float* p : {static_cast<const float*>(out), in...}) {
    wide = wide && reinterpret_cast<uintptr_t>(p) % sizeof(channel_loops::Pack<kWide>) == 0;
  }
  if (wide) {
    ForEachIndex(gpu, v.count() / kWide, what,
                 channel_loops::MapBody<F, kInputs, kWide>{{in...}, out, v, f});
  } else {
    ForEachIndex(gpu, v.count(), what, channel_loops::MapBody<F, kInputs, 1>{{in...}, out, v, f});
  }
}

struct TwoSums {
  double first, second;
};
struct PlusTwoSums {
  __host__ __device__ TwoSums operator()(const TwoSums& a, const TwoSums& b) const {
    return {a.first + b.first, a.second + b.second};
  }
};

inline int64_t SumChannelsBytes(const Channels& v) {
  if (channel_loops::SideBySide(v)) {
    return channel_loops::PartsOf(v) * v.channels() * v.inner() *
           static_cast<int64_t>(sizeof(TwoSums));
  }
  return ReduceRowsBytes<TwoSums>(v.channels(), v.positions());
}

// finish(c, sums) for every channel c, where the sums are those of map(i, c) over its elements i.
// `map` is called once for each element, and may write things there. The order of additions depends
// on the sizes only. `room`: SumChannelsBytes.
template <class Map, class Finish>
static void SumChannels(const Gpu& gpu, const Channels& v, const char* what, const Map& map,
                        const Finish& finish, void* room) {
  const TwoSums zero{0, 0};
  if (!channel_loops::SideBySide(v)) {
    ReduceRows(
        gpu, v.channels(), v.positions(), what, zero,
        DOPPIO_BODY(int64_t c, int64_t k) { return map(v.At(c, k), c); }, PlusTwoSums(), finish,
        room);
    return;
  }
  const int64_t lanes = v.channels() * v.inner(), parts = channel_loops::PartsOf(v);
  TwoSums* partial = static_cast<TwoSums*>(room);
  ForEachIndex(
      gpu, parts * lanes, what, DOPPIO_BODY(int64_t index) {
        const int64_t part = index / lanes, lane = index - part * lanes, c = v.OverInner(lane);
        const int64_t end = v.outer() * (part + 1) / parts;
        TwoSums sums = zero;
        for (int64_t n = v.outer() * part / parts; n < end; ++n)
          sums = PlusTwoSums()(sums, map(n * lanes + lane, c));
        partial[index] = sums;
      });
  ReduceRows(
      gpu, v.channels(), parts * v.inner(), what, zero,
      DOPPIO_BODY(int64_t c, int64_t k) {
        const int64_t part = v.OverInner(k);
        return partial[part * lanes + c * v.inner() + (k - part * v.inner())];
      },
      PlusTwoSums(), finish, nullptr);  // at most kMost * kLongRun columns: no room is needed
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CHANNELS_CUH_

// Two sums per channel, over columns or runs as in channels.cuh. Blocks sum parts of the tensor; a
// second launch adds the parts of each channel.
//
// Only for .cu files; functions are static as in core/device/launch.cuh.
#ifndef DOPPIO_LAYERS_COMMON_CHANNEL_SUMS_CUH_
#define DOPPIO_LAYERS_COMMON_CHANNEL_SUMS_CUH_

#include <algorithm>

#include "layers/common/channels.cuh"

namespace doppio {

// The terms that one element adds to the sums of its channel.
struct TwoTerms {
  float first, second;
};

struct TwoSums {
  double first, second;
};
struct PlusTwoSums {
  __host__ __device__ TwoSums operator()(const TwoSums& a, const TwoSums& b) const {
    return {a.first + b.first, a.second + b.second};
  }
};

// Stores the first sum of each channel, for SumChannels.
struct StoreFirst {
  SumTarget to;
  __host__ __device__ void operator()(int64_t c, const TwoSums& sums) const {
    to.Store(c, sums.first);
  }
};

namespace channel_loops {

// The launch over columns. A block sums `width` neighbouring packs of columns over a part of the
// rows, with `lanes` threads per pack.
struct SumForm : Matrix {
  SumForm(const Channels& v, int pack) : Matrix(v, pack) {
    constexpr int64_t kMostPacks = 32, kLeastRows = 8, kBlocks = 512;
    tiles = std::max<int64_t>(1, (packs + kMostPacks - 1) / kMostPacks);
    width = static_cast<int>(std::max<int64_t>(1, (packs + tiles - 1) / tiles));
    lanes = kThreadsPerBlock / width;
    parts = std::clamp<int64_t>(std::min(kBlocks / tiles, rows / (lanes * kLeastRows)), 1, kBlocks);
  }
  int64_t tiles, parts;
  int width, lanes;
};

template <class F, class T, int kInputs>
struct SumColumns {
  static constexpr int kWidth = kPackWidth<T>;
  Places<T, kInputs> places;
  Channels v;
  F f;

  // Adds rows first, first + step, ... below `end` of the n columns from `column` on to `sums`.
  // Sums up to kRows rows in single precision before it adds them to the doubles.
  __host__ __device__ void operator()(const SumForm& form, int64_t column, int n, int64_t first,
                                      int64_t step, int64_t end, TwoSums (&sums)[kWidth]) const {
    // With more rows at a time, three 16-bit inputs would not fit into the registers.
    constexpr int kRows = kInputs == 1 ? 4 : kInputs == 2 ? 2 : 1;
    decltype(f(int64_t())) of[kWidth];
    TakeFunctions(v, f, column, n, of);
    for (int64_t row = first; row < end; row += kRows * step) {
      typename Places<T, kInputs>::Packs from[kRows];
      for (int r = 0; r < kRows; ++r) {
        const int64_t at = row + r * step;
        places.Load(at * form.columns + column, at < end ? n : 0, from[r]);
      }
      Pack<T, kWidth> to[kRows];
      for (int lane = 0; lane < kWidth; ++lane) {
        TwoTerms few = {};
        for (int r = 0; r < kRows; ++r) {
          if (row + r * step >= end) continue;
          float values[kInputs], out = 0;
          places.Widen(from[r], lane, values);
          const TwoTerms terms = of[lane](values, &out);
          few.first += terms.first;
          few.second += terms.second;
          to[r].v[lane] = static_cast<T>(out);
        }
        sums[lane].first += few.first;
        sums[lane].second += few.second;
      }
      for (int r = 0; F::kWrites && r < kRows && places.out != nullptr; ++r) {
        const int64_t at = row + r * step;
        if (at < end) places.Store(at * form.columns + column, n, to[r]);
      }
    }
  }
};

// Writes the sums of a block to partial[part * columns + column], always added in the same order.
template <class Sum>
__global__ void __launch_bounds__(kThreadsPerBlock, 2)
    RunSumColumns(const Sum sum, const SumForm form, TwoSums* partial) {
  constexpr int kWidth = Sum::kWidth;
  alignas(16) __shared__ unsigned char memory[kWidth * kThreadsPerBlock * sizeof(TwoSums)];
  auto* const room = reinterpret_cast<TwoSums(*)[kThreadsPerBlock]>(memory);
  const int me = static_cast<int>(threadIdx.x), lane_of_rows = me / form.width;
  const int64_t tile = blockIdx.x % form.tiles, part = blockIdx.x / form.tiles;
  const int64_t pack = tile * form.width + (me - lane_of_rows * form.width), column = pack * kWidth;
  const bool active = lane_of_rows < form.lanes && pack < form.packs;
  const int n = active ? Least(form.columns - column, kWidth) : 0;

  TwoSums sums[kWidth] = {};
  if (active) {
    sum(form, column, n, form.rows * part / form.parts + lane_of_rows, form.lanes,
        form.rows * (part + 1) / form.parts, sums);
  }
  for (int lane = 0; lane < kWidth; ++lane) room[lane][me] = sums[lane];
  for (int left = form.lanes; left > 1;) {
    const int half = (left + 1) / 2;
    __syncthreads();
    if (lane_of_rows + half < left) {
      for (int lane = 0; lane < kWidth; ++lane) {
        room[lane][me] = PlusTwoSums()(room[lane][me], room[lane][me + half * form.width]);
      }
    }
    left = half;
  }
  if (lane_of_rows > 0) return;
  for (int lane = 0; lane < n; ++lane) {
    partial[part * form.columns + column + lane] = room[lane][me];
  }
}

template <class Sum>
static void LaunchSumColumns(const Gpu& gpu, const Sum& sum, const SumForm& form, const char* what,
                             TwoSums* partial) {
  const unsigned blocks = static_cast<unsigned>(form.tiles * form.parts);
  Launch(gpu, what, &RunSumColumns<Sum>, blocks, sum, form, partial);
}

// The launch over runs. A block sums a part of one channel's packs.
struct RunForm {
  RunForm(const Channels& v, int pack)
      : packs((v.inner() + pack - 1) / pack),
        all(v.outer() * packs),
        parts(std::max<int64_t>(
            1, std::min(kBlocks / std::max<int64_t>(1, v.channels()), all / kLeast))),
        by_packs(packs, all) {}
  static constexpr int64_t kBlocks = 1024, kLeast = 1024;

  int64_t packs, all, parts;  // `packs` per run, `all` per channel
  IndexDivider by_packs;
};

template <class F, class T, int kInputs>
struct SumRuns {
  static constexpr int kWidth = kPackWidth<T>;
  Places<T, kInputs> places;
  Channels v;
  F f;

  // Returns the sums of packs first, first + step, ... below `end` of channel c.
  __host__ __device__ TwoSums operator()(const RunForm& form, int64_t c, int64_t first,
                                         int64_t step, int64_t end) const {
    const auto of = f(c);
    TwoSums sums{0, 0};
    for (int64_t pack = first; pack < end; pack += step) {
      const int64_t run = form.by_packs(pack), begin = (pack - run * form.packs) * kWidth;
      const int64_t i = (run * v.channels() + c) * v.inner() + begin;
      const int n = Least(v.inner() - begin, kWidth);
      typename Places<T, kInputs>::Packs from;
      places.Load(i, n, from);
      TwoTerms few = {};
      Pack<T, kWidth> to;
      for (int lane = 0; lane < kWidth; ++lane) {
        float values[kInputs], out = 0;
        places.Widen(from, lane, values);
        const TwoTerms terms = of(values, &out);
        if (lane < n) {
          few.first += terms.first;
          few.second += terms.second;
        }
        to.v[lane] = static_cast<T>(out);
      }
      if (F::kWrites && places.out != nullptr) places.Store(i, n, to);
      sums.first += few.first;
      sums.second += few.second;
    }
    return sums;
  }
};

// Writes the sums of a block to partial[part * channels + c].
template <class Sum>
__global__ void RunSumRuns(const Sum sum, const RunForm form, TwoSums* partial) {
  const int64_t channels = sum.v.channels();
  for (int64_t item = blockIdx.x; item < channels * form.parts; item += gridDim.x) {
    const int64_t part = item / channels;
    const TwoSums mine =
        sum(form, item - part * channels, form.all * part / form.parts + threadIdx.x, blockDim.x,
            form.all * (part + 1) / form.parts);
    const TwoSums all = launch::CombineBlock(mine, PlusTwoSums());
    if (threadIdx.x == 0) partial[item] = all;
  }
}

template <class Sum>
static void LaunchSumRuns(const Gpu& gpu, const Sum& sum, const RunForm& form, const char* what,
                          TwoSums* partial) {
  const int64_t items = sum.v.channels() * form.parts;
  const unsigned blocks = static_cast<unsigned>(std::min(items, launch::kMaxBlocks));
  Launch(gpu, what, &RunSumRuns<Sum>, blocks, sum, form, partial);
}

// Reads the partial sums of a channel: those of its `inner` neighbouring columns, in all parts.
struct PartialAt {
  const TwoSums* partial;
  int64_t columns, inner;
  IndexDivider by_inner;
  __host__ __device__ TwoSums operator()(int64_t c, int64_t k) const {
    const int64_t part = by_inner(k);
    return partial[part * columns + c * inner + (k - part * inner)];
  }
};

template <class Finish>
static void FinishSums(const Gpu& gpu, int64_t channels, int64_t inner, int64_t parts,
                       const TwoSums* partial, const char* what, const Finish& finish) {
  const PartialAt at{partial, channels * inner, inner, IndexDivider(inner, parts * inner)};
  // The rows are so short that ReduceRows needs no scratch memory.
  ReduceRows(gpu, channels, parts * inner, what, TwoSums{0, 0}, at, PlusTwoSums(), finish, nullptr);
}

}  // namespace channel_loops

template <class T>
int64_t SumChannelsBytes(const Channels& v) {
  using namespace channel_loops;
  constexpr int64_t kBytes = sizeof(TwoSums);
  if (InColumns(v)) {
    const SumForm form(v, kPackWidth<T>);
    return form.parts * form.columns * kBytes;
  }
  return v.channels() * RunForm(v, kPackWidth<T>).parts * kBytes;
}

// Calls finish(c, sums) for every channel c. `sums` adds the terms that f(c)({in[i]...}, &value)
// returns for the channel's elements i. Writes out[i] = value if F::kWrites is true and `out` is
// not null. Inputs and `out` are as for MapChannels. The order of additions depends only on the
// sizes. `room` has SumChannelsBytes<T>(v) bytes.
template <class F, class Finish, class T, class... In>
static void SumChannels(const Gpu& gpu, const Channels& v, const char* what, T* out, const F& f,
                        const Finish& finish, void* room, const In*... in) {
  using namespace channel_loops;
  constexpr int kInputs = sizeof...(In), kWidth = kPackWidth<T>;
  TwoSums* const partial = static_cast<TwoSums*>(room);
  if (InColumns(v)) {
    const SumForm form(v, kWidth);
    const auto places = PlacesOf(form.columns % kWidth == 0, out, in...);
    LaunchSumColumns(gpu, SumColumns<F, T, kInputs>{places, v, f}, form, what, partial);
    FinishSums(gpu, v.channels(), v.inner(), form.parts, partial, what, finish);
  } else {
    const RunForm form(v, kWidth);
    const auto places = PlacesOf(v.inner() % kWidth == 0, out, in...);
    LaunchSumRuns(gpu, SumRuns<F, T, kInputs>{places, v, f}, form, what, partial);
    FinishSums(gpu, v.channels(), 1, form.parts, partial, what, finish);
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_CHANNEL_SUMS_CUH_

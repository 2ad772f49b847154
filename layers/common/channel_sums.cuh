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
  explicit SumForm(const Channels& v) : Matrix(v, kColumns) {
    constexpr int64_t kMostPacks = 32, kLeastRows = 8, kBlocks = kBlocksOfPasses;
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
  using To = Places<T, kInputs, kColumns>;
  To places;
  Channels v;
  F f;

  // Sums rows first, first + step, ... below `end` of the n columns from `column` on. Calls
  // add(lane, terms) for every lane after at most kFew rows, whose sum is in single precision.
  template <class Add>
  __host__ __device__ void operator()(const SumForm& form, int64_t column, int n, int64_t first,
                                      int64_t step, int64_t end, const Add& add) const {
    // Rows that are loaded together, as many as the registers hold.
    constexpr int kRows = (kInputs == 1 ? 16 : 8) / static_cast<int>(sizeof(T));
    constexpr int kFew = 2 * kRows;
    decltype(f(int64_t())) of[kColumns];
    TakeFunctions(v, f, column, n, of);
    for (int64_t row = first; row < end; row += kFew * step) {
      const int64_t stop = row + kFew * step < end ? row + kFew * step : end;
      int64_t i = row * form.columns + column;
      const int64_t between = step * form.columns, last = stop * form.columns;
      TwoTerms few[kColumns] = {};
      if (places.aligned) {
        for (; i + (kRows - 1) * between < last; i += kRows * between)
          AddRows<true, kRows>(of, i, between, n, few);
        for (; i < last; i += between) AddRows<true, 1>(of, i, between, n, few);
      } else {
        for (; i < last; i += between) AddRows<false, 1>(of, i, between, n, few);
      }
      for (int lane = 0; lane < kColumns; ++lane) add(lane, few[lane]);
    }
  }

 private:
  // Adds `count` rows to `few`, whose elements are `between` apart.
  template <bool kWhole, int count, class Of>
  __host__ __device__ void AddRows(const Of (&of)[kColumns], int64_t i, int64_t between, int n,
                                   TwoTerms (&few)[kColumns]) const {
    typename To::Packs from[count];
    for (int r = 0; r < count; ++r) places.template Load<kWhole>(i + r * between, n, from[r]);
    for (int r = 0; r < count; ++r) {
      Pack<T, kColumns> to;
      for (int lane = 0; lane < kColumns; ++lane) {
        float values[kInputs], out = 0;
        places.Widen(from[r], lane, values);
        const TwoTerms terms = of[lane](values, &out);
        few[lane].first += terms.first;
        few[lane].second += terms.second;
        to.v[lane] = static_cast<T>(out);
      }
      if (F::kWrites && places.out != nullptr)
        places.template Store<kWhole>(i + r * between, n, to);
    }
  }
};

// Writes the sums of a block to partial[part * columns + column], always added in the same order.
template <class Sum>
__global__ void __launch_bounds__(kThreadsPerBlock, 3)
    RunSumColumns(const Sum sum, const SumForm form, TwoSums* partial) {
  alignas(16) __shared__ unsigned char memory[kColumns * kThreadsPerBlock * sizeof(TwoSums)];
  auto* const room = reinterpret_cast<TwoSums(*)[kThreadsPerBlock]>(memory);
  const int me = static_cast<int>(threadIdx.x), lane_of_rows = me / form.width;
  const int64_t tile = blockIdx.x % form.tiles, part = blockIdx.x / form.tiles;
  const int64_t pack = tile * form.width + (me - lane_of_rows * form.width),
                column = pack * kColumns;
  const bool active = lane_of_rows < form.lanes && pack < form.packs;
  const int n = active ? Least(form.columns - column, kColumns) : 0;

  // In registers, the doubles would leave room for fewer threads.
  for (int lane = 0; lane < kColumns; ++lane) room[lane][me] = {0, 0};
  if (active) {
    sum(form, column, n, form.rows * part / form.parts + lane_of_rows, form.lanes,
        form.rows * (part + 1) / form.parts, [&](int lane, const TwoTerms& terms) {
          room[lane][me].first += terms.first;
          room[lane][me].second += terms.second;
        });
  }
  for (int left = form.lanes; left > 1;) {
    const int half = (left + 1) / 2;
    __syncthreads();
    if (lane_of_rows + half < left) {
      for (int lane = 0; lane < kColumns; ++lane) {
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
  static constexpr int64_t kBlocks = kBlocksOfPasses, kLeast = 1024;

  int64_t packs, all, parts;  // `packs` per run, `all` per channel
  IndexDivider by_packs;
};

template <class F, class T, int kInputs>
struct SumRuns {
  static constexpr int kWidth = kPackWidth<T>;
  using To = Places<T, kInputs, kWidth>;
  To places;
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
      const TwoTerms few =
          places.aligned && n == kWidth ? AddPack<true>(of, i, n) : AddPack<false>(of, i, n);
      sums.first += few.first;
      sums.second += few.second;
    }
    return sums;
  }

 private:
  template <bool kWhole, class Of>
  __host__ __device__ TwoTerms AddPack(const Of& of, int64_t i, int n) const {
    typename To::Packs from;
    places.template Load<kWhole>(i, n, from);
    TwoTerms few = {};
    Pack<T, kWidth> to;
    for (int lane = 0; lane < kWidth; ++lane) {
      float values[kInputs], out = 0;
      places.Widen(from, lane, values);
      const TwoTerms terms = of(values, &out);
      if (kWhole || lane < n) {
        few.first += terms.first;
        few.second += terms.second;
      }
      to.v[lane] = static_cast<T>(out);
    }
    if (F::kWrites && places.out != nullptr) places.template Store<kWhole>(i, n, to);
    return few;
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
    const SumForm form(v);
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
    const SumForm form(v);
    const auto places = PlacesOf<kColumns>(form.columns % kColumns == 0, out, in...);
    LaunchSumColumns(gpu, SumColumns<F, T, kInputs>{places, v, f}, form, what, partial);
    FinishSums(gpu, v.channels(), v.inner(), form.parts, partial, what, finish);
  } else {
    const RunForm form(v, kWidth);
    const auto places = PlacesOf<kWidth>(v.inner() % kWidth == 0, out, in...);
    LaunchSumRuns(gpu, SumRuns<F, T, kInputs>{places, v, f}, form, what, partial);
    FinishSums(gpu, v.channels(), 1, form.parts, partial, what, finish);
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_CHANNEL_SUMS_CUH_

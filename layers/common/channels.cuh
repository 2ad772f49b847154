// Loops over Channels: one value per element here, two sums per channel in channel_sums.cuh.
// Elements are stored as float, Half or BFloat16 and computed as float. A thread reads and writes
// packs of neighbouring elements. A channel's computation is a function f(c) that
// returns the function of the channel's elements, so that the channel's values are read once for
// many elements.
//
// If a channel is stored in long runs, each thread processes a piece of a run. Otherwise (channels
// last, and short runs) each thread processes neighbouring columns of the [outer] x [channels *
// inner] matrix and walks down the rows.
//
// Only for .cu files; functions are static as in core/device/launch.cuh.
#ifndef DOPPIO_LAYERS_COMMON_CHANNELS_CUH_
#define DOPPIO_LAYERS_COMMON_CHANNELS_CUH_

#include <cstring>

#include "core/device/elementwise.cuh"
#include "layers/common/channels_cuda.h"

namespace doppio {
namespace channel_loops {

// Blocks of a pass over a large tensor. A GPU runs a few blocks per multiprocessor at once and
// idles while the last of them end. This is a multiple of 2, 3 and 4 blocks for each of the 132
// multiprocessors of an H100 or H200, and several times what smaller GPUs run at once.
constexpr int64_t kBlocksOfPasses = 132 * 12;

constexpr int64_t kLongRun = 32;
inline bool InColumns(const Channels& v) { return v.inner() < kLongRun && v.count() > 0; }

// Columns that a thread processes. With 8 of them, their channels' values would take so many
// registers that too few threads could run at once to hide the latency of memory.
constexpr int kColumns = 4;

// The memory that a loop reads and writes, in packs of kWidth elements. A pack is read from all
// inputs before it is written, so that `out` may be any of them.
template <class T, int kInputs, int kWidth>
struct Places {
  using Packs = Pack<T, kWidth>[kInputs];

  const T* in[kInputs];  // null: reads zeros
  T* out;                // null: writes nothing
  bool aligned;          // full packs begin at multiples of their size

  // Loads n elements from index i on, and fills the packs with zeros. kWhole: they are full,
  // aligned packs. Callers branch on that once, outside of their loops: if loads of both kinds
  // ended in the same registers, the compiler would take each pack apart before it loads the next,
  // and the thread would wait for memory at each of them.
  template <bool kWhole>
  __host__ __device__ void Load(int64_t i, int n, Packs& to) const {
    for (int k = 0; k < kInputs; ++k) {
      if constexpr (kWhole) {
        to[k] = LoadPackOrZeros<kWidth>(in[k], i);
      } else {
        for (int lane = 0; lane < kWidth; ++lane)
          to[k].v[lane] = in[k] != nullptr && lane < n ? in[k][i + lane] : static_cast<T>(0.0f);
      }
    }
  }
  template <bool kWhole>
  __host__ __device__ void Store(int64_t i, int n, const Pack<T, kWidth>& from) const {
    if constexpr (kWhole) {
      StorePackAtOnce(from, out + i);
    } else {
      for (int lane = 0; lane < kWidth; ++lane) {
        if (lane < n) out[i + lane] = from.v[lane];
      }
    }
  }
  __host__ __device__ static void Widen(const Packs& from, int lane, float (&to)[kInputs]) {
    for (int k = 0; k < kInputs; ++k) to[k] = static_cast<float>(from[k].v[lane]);
  }
};

template <int kWidth, class T, class... In>
static Places<T, sizeof...(In), kWidth> PlacesOf(bool packs_align, T* out, const In*... in) {
  return {{in...}, out, packs_align && PacksAligned(out, in...)};
}

// The tensor as a matrix whose rows are read in packs of `width` columns.
struct Matrix {
  Matrix(const Channels& v, int width)
      : rows(v.outer()), columns(v.channels() * v.inner()), packs((columns + width - 1) / width) {}
  int64_t rows, columns, packs;  // `packs` per row
};

__host__ __device__ inline int Least(int64_t a, int b) { return a < b ? static_cast<int>(a) : b; }

// Sets of[lane] to the function of the channel of column `column` + lane, for the n columns of a
// pack. Unused lanes repeat the last function.
template <int kWidth, class F, class Of>
__host__ __device__ void TakeFunctions(const Channels& v, const F& f, int64_t column, int n,
                                       Of (&of)[kWidth]) {
  for (int lane = 0; lane < kWidth; ++lane) {
    of[lane] = f(v.OverInner(column + Least(lane, n - 1)));
  }
}

template <class F, class T, int kInputs>
struct MapColumns {
  static constexpr int kRows = 4;  // rows that are read before the first of them is written
  using To = Places<T, kInputs, kColumns>;
  To places;
  Channels v;
  F f;
  Matrix matrix;
  int64_t groups;  // threads that share the rows of each pack of columns

  __host__ __device__ void operator()(int64_t thread) const {
    const int64_t group = thread / matrix.packs,
                  column = (thread - group * matrix.packs) * kColumns;
    const int n = Least(matrix.columns - column, kColumns);
    decltype(f(int64_t())) of[kColumns];
    TakeFunctions(v, f, column, n, of);
    if (places.aligned) {
      int64_t row = group;
      for (; row + (kRows - 1) * groups < matrix.rows; row += kRows * groups)
        Rows<true, kRows>(of, row, column, n);
      for (; row < matrix.rows; row += groups) Rows<true, 1>(of, row, column, n);
    } else {
      for (int64_t row = group; row < matrix.rows; row += groups)
        Rows<false, 1>(of, row, column, n);
    }
  }

 private:
  // Computes `count` rows, `groups` apart.
  template <bool kWhole, int count, class Of>
  __host__ __device__ void Rows(const Of (&of)[kColumns], int64_t row, int64_t column,
                                int n) const {
    typename To::Packs from[count];
    for (int r = 0; r < count; ++r)
      places.template Load<kWhole>((row + r * groups) * matrix.columns + column, n, from[r]);
    for (int r = 0; r < count; ++r) {
      Pack<T, kColumns> to;
      for (int lane = 0; lane < kColumns; ++lane) {
        float values[kInputs];
        places.Widen(from[r], lane, values);
        to.v[lane] = static_cast<T>(of[lane](values));
      }
      places.template Store<kWhole>((row + r * groups) * matrix.columns + column, n, to);
    }
  }
};

template <class F, class T, int kInputs>
struct MapRuns {
  static constexpr int kWidth = kPackWidth<T>;
  using To = Places<T, kInputs, kWidth>;
  To places;
  Channels v;
  F f;

  __host__ __device__ void operator()(int64_t index) const {
    const int64_t i = index * kWidth;
    const int n = Least(v.count() - i, kWidth);
    if (places.aligned && n == kWidth)
      Compute<true>(i, n);
    else
      Compute<false>(i, n);
  }

 private:
  // A pack contains elements of at most two runs, because a run is longer than a pack.
  template <bool kWhole>
  __host__ __device__ void Compute(int64_t i, int n) const {
    const int64_t run = v.OverInner(i), c = run - v.OverChannels(run) * v.channels();
    const int64_t left = (run + 1) * v.inner() - i;
    const auto of = f(c);
    const auto of_next = left < n ? f(c + 1 == v.channels() ? 0 : c + 1) : of;
    typename To::Packs from;
    places.template Load<kWhole>(i, n, from);
    Pack<T, kWidth> to;
    for (int lane = 0; lane < kWidth; ++lane) {
      float values[kInputs];
      places.Widen(from, lane, values);
      to.v[lane] = static_cast<T>(lane < left ? of(values) : of_next(values));
    }
    places.template Store<kWhole>(i, n, to);
  }
};

}  // namespace channel_loops

// Computes out[i] = f(c)({in[i]...}) for every element i, where c is its channel. A null input
// counts as zeros. `out` may be any input.
template <class F, class T, class... In>
static void MapChannels(const Gpu& gpu, const Channels& v, const char* what, T* out, const F& f,
                        const In*... in) {
  using namespace channel_loops;
  constexpr int kInputs = sizeof...(In), kWidth = kPackWidth<T>;
  if (!InColumns(v)) {
    ForEachIndex(gpu, (v.count() + kWidth - 1) / kWidth, what,
                 MapRuns<F, T, kInputs>{PlacesOf<kWidth>(true, out, in...), v, f});
    return;
  }
  constexpr int64_t kThreads = kBlocksOfPasses * kThreadsPerBlock, kRowsEach = 4;
  const Matrix matrix(v, kColumns);
  const int64_t groups =
      std::max<int64_t>(1, std::min(kThreads / matrix.packs, matrix.rows / kRowsEach));
  ForEachIndex(
      gpu, groups * matrix.packs, what,
      MapColumns<F, T, kInputs>{PlacesOf<kColumns>(matrix.columns % kColumns == 0, out, in...), v,
                                f, matrix, groups});
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_CHANNELS_CUH_

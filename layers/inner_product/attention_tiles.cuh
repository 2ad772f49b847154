// The kernels of Attention on a GPU. A block computes tiles of the matrix of queries x keys in
// shared memory, by plain arithmetic in single precision.
//
// Only for .cu files.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_ATTENTION_TILES_CUH_
#define DOPPIO_LAYERS_INNER_PRODUCT_ATTENTION_TILES_CUH_

#include <cmath>

#include "core/device/launch.cuh"
#include "layers/inner_product/attention_form.h"

namespace doppio {
namespace attention {

// A tile has kSide rows and columns. A thread has kOwn elements of one column, kStep rows apart.
constexpr int kSide = 32, kStep = kThreadsPerBlock / kSide, kOwn = kSide / kStep;
using SharedTile = float[kSide][kSide + 1];
struct SharedTiles {
  SharedTile left, right, weights, gradients;
};

__host__ __device__ inline int64_t TilesOf(int64_t extent) { return (extent + kSide - 1) / kSide; }
__device__ inline int OwnColumn() { return static_cast<int>(threadIdx.x) % kSide; }
__device__ inline int OwnRow(int own) {
  return static_cast<int>(threadIdx.x) / kSide + own * kStep;
}

// The part of one head in the queries, keys, values or tops of one sample: a matrix with a row for
// each position. T may be const.
template <class T>
struct HeadRows {
  T* first;
  int64_t rows, width, step;
  // Returns element c of a row; 0 outside.
  __host__ __device__ float operator()(int64_t row, int64_t c) const {
    return row < rows && c < width ? static_cast<float>(first[row * step + c]) : 0;
  }
  __device__ void Write(int64_t row, int64_t c, float value) const {
    if (row < rows && c < width) first[row * step + c] = static_cast<T>(value);
  }
};

// What the kernels read.
template <class T>
struct Task {
  AttentionForm form;
  const T *queries, *keys, *values, *mask;
  const float* relative;
  uint64_t first_sample;
  float* log_sums;  // of each sample, head and query; null: not wanted
  const T* top_gradient = nullptr;
  const float* dots = nullptr;  // of the top and its gradient, for each sample, head and query

  // Return the part of a head in an array of the shape of the queries, keys, values or the top.
  template <class V>
  __host__ __device__ HeadRows<V> Queries(V* data, int64_t n, int64_t head) const {
    return Rows(data, form.queries, form.depth, n, head);
  }
  template <class V>
  __host__ __device__ HeadRows<V> Keys(V* data, int64_t n, int64_t head) const {
    return Rows(data, form.keys, form.depth, n, head);
  }
  template <class V>
  __host__ __device__ HeadRows<V> Values(V* data, int64_t n, int64_t head) const {
    return Rows(data, form.keys, form.values, n, head);
  }
  template <class V>
  __host__ __device__ HeadRows<V> Tops(V* data, int64_t n, int64_t head) const {
    return Rows(data, form.queries, form.values, n, head);
  }
  __host__ __device__ int64_t RowOf(int64_t n, int64_t head, int64_t i) const {
    return (n * form.heads + head) * form.queries + i;
  }

  // Returns the score of a pair whose product is `dot`; minus infinity outside.
  __host__ __device__ float Score(int64_t n, int64_t head, int64_t i, int64_t j, float dot) const {
    if (i >= form.queries || j >= form.keys) return -INFINITY;
    float score = dot * static_cast<float>(form.scale);
    if (form.mask != AttentionForm::kNoMask)
      score += form.Added(static_cast<float>(mask[form.MaskAt(n, head, i, j)]));
    if (form.relative)
      score += relative[head * form.offsets() + form.Place(i) - form.Place(j) + form.Middle()];
    return score;
  }
  // Returns the factor by which dropout multiplies a weight.
  __host__ __device__ float Kept(int64_t n, int64_t head, int64_t i, int64_t j) const {
    if (form.ratio == 0) return 1;
    const uint64_t sample = first_sample + static_cast<uint64_t>(n);
    return form.Kept(form.Draw(sample, head, i, j).v[j % 4]);
  }

 private:
  template <class V>
  __host__ __device__ HeadRows<V> Rows(V* data, int64_t rows, int64_t width, int64_t n,
                                       int64_t head) const {
    const int64_t step = form.heads * width;
    return {data + n * rows * step + head * width, rows, width, step};
  }
};

// The part of the work of a block: a tile's first row, in a head, and the first of kSide columns.
struct Item {
  int64_t sample, head, first, column;
  __host__ __device__ Item(int64_t item, int64_t heads, int64_t tiles, int64_t chunks)
      : sample(item / chunks / tiles / heads),
        head(item / chunks / tiles % heads),
        first(item / chunks % tiles * kSide),
        column(item % chunks * kSide) {}
};

// sums[own] += the sum over c of a(first_a + row, c) * b(first_b + column, c).
template <class T>
__device__ void AddDots(const HeadRows<const T>& a, int64_t first_a, const HeadRows<const T>& b,
                        int64_t first_b, SharedTiles& room, float (&sums)[kOwn]) {
  const int column = OwnColumn();
  for (int64_t begin = 0; begin < a.width; begin += kSide) {
    __syncthreads();  // until all threads have read the values before
    for (int own = 0; own < kOwn; ++own) {
      const int row = OwnRow(own);
      room.left[row][column] = a(first_a + row, begin + column);
      room.right[row][column] = b(first_b + row, begin + column);
    }
    __syncthreads();
    for (int c = 0; c < kSide; ++c) {
      for (int own = 0; own < kOwn; ++own)
        sums[own] += room.left[OwnRow(own)][c] * room.right[column][c];
    }
  }
}

// sums[own] += the sum over k of factors[row][k] * b(first + k, column_b + column), where kTurned
// exchanges the axes of `factors`.
template <bool kTurned, class T>
__device__ void AddWeighted(const SharedTile& factors, const HeadRows<const T>& b, int64_t first,
                            int64_t column_b, SharedTiles& room, float (&sums)[kOwn]) {
  const int column = OwnColumn();
  __syncthreads();
  for (int own = 0; own < kOwn; ++own)
    room.right[OwnRow(own)][column] = b(first + OwnRow(own), column_b + column);
  __syncthreads();
  for (int k = 0; k < kSide; ++k) {
    for (int own = 0; own < kOwn; ++own) {
      const int row = OwnRow(own);
      sums[own] += (kTurned ? factors[k][row] : factors[row][k]) * room.right[k][column];
    }
  }
}

// The maximum and the sum of the exponentials of a row so far, and the factor for earlier sums.
struct SharedRow {
  float max, sum, factor;

  // Takes in the scores of a tile's row and makes weights of them.
  __device__ void Take(float (&row)[kSide + 1]) {
    float highest = max, total = 0;
    for (int c = 0; c < kSide; ++c) highest = row[c] > highest ? row[c] : highest;
    const float base = highest == -INFINITY ? 0 : highest;  // if all keys so far are hidden
    factor = std::exp(max - base);
    for (int c = 0; c < kSide; ++c) total += row[c] = std::exp(row[c] - base);
    sum = sum * factor + total;
    max = highest;
  }
};

template <class T>
__global__ void RunForward(const Task<T> task, T* top) {
  __shared__ SharedTiles room;
  __shared__ SharedRow rows[kSide];
  const AttentionForm& form = task.form;
  const int64_t tiles = TilesOf(form.queries), chunks = TilesOf(form.values);
  const int64_t items = form.batch * form.heads * tiles * chunks;
  const int me = static_cast<int>(threadIdx.x), column = OwnColumn();
  for (int64_t index = blockIdx.x; index < items; index += gridDim.x) {
    const Item item(index, form.heads, tiles, chunks);
    const int64_t n = item.sample, head = item.head;
    if (me < kSide) rows[me] = {-INFINITY, 0, 1};
    float out[kOwn] = {};
    for (int64_t key = 0; key < form.keys; key += kSide) {
      float dots[kOwn] = {};
      AddDots(task.Queries(task.queries, n, head), item.first, task.Keys(task.keys, n, head), key,
              room, dots);
      for (int own = 0; own < kOwn; ++own) {
        room.weights[OwnRow(own)][column] =
            task.Score(n, head, item.first + OwnRow(own), key + column, dots[own]);
      }
      __syncthreads();
      if (me < kSide) rows[me].Take(room.weights[me]);
      __syncthreads();
      for (int own = 0; own < kOwn; ++own) {
        const int row = OwnRow(own);
        room.weights[row][column] *= task.Kept(n, head, item.first + row, key + column);
        out[own] *= rows[row].factor;
      }
      AddWeighted<false>(room.weights, task.Values(task.values, n, head), key, item.column, room,
                         out);
    }
    for (int own = 0; own < kOwn; ++own) {
      const int row = OwnRow(own);
      const float sum = rows[row].sum;
      task.Tops(top, n, head)
          .Write(item.first + row, item.column + column, sum == 0 ? 0 : out[own] / sum);
    }
    if (task.log_sums != nullptr && item.column == 0 && me < kSide &&
        item.first + me < form.queries) {
      // Infinity makes all weights 0 in backward.
      task.log_sums[task.RowOf(n, head, item.first + me)] =
          rows[me].sum == 0 ? INFINITY : rows[me].max + std::log(rows[me].sum);
    }
    __syncthreads();  // before the next item changes the rows
  }
}

// Computes a tile of weights, which dropout has multiplied, and of the gradients of the scores.
template <class T>
__device__ void ComputeTile(const Task<T>& task, int64_t n, int64_t head, int64_t query,
                            int64_t key, SharedTiles& room) {
  const AttentionForm& form = task.form;
  float dots[kOwn] = {}, by_value[kOwn] = {};
  AddDots(task.Queries(task.queries, n, head), query, task.Keys(task.keys, n, head), key, room,
          dots);
  AddDots(task.Tops(task.top_gradient, n, head), query, task.Values(task.values, n, head), key,
          room, by_value);
  const int column = OwnColumn();
  for (int own = 0; own < kOwn; ++own) {
    const int64_t i = query + OwnRow(own), j = key + column;
    float weight = 0, kept = 0, gradient = 0;
    if (i < form.queries && j < form.keys) {
      const int64_t row = task.RowOf(n, head, i);
      weight = std::exp(task.Score(n, head, i, j, dots[own]) - task.log_sums[row]);
      kept = task.Kept(n, head, i, j);
      gradient = weight * (by_value[own] * kept - task.dots[row]);
    }
    room.weights[OwnRow(own)][column] = weight * kept;
    room.gradients[OwnRow(own)][column] = gradient;
  }
}

// Computes the gradients of bottom kOf: queries, keys or values.
template <int kOf, class T>
__global__ void RunGradient(const Task<T> task, T* to) {
  __shared__ SharedTiles room;
  const AttentionForm& form = task.form;
  constexpr bool kQueries = kOf == 0, kValues = kOf == 2;
  const int64_t tiles = TilesOf(kQueries ? form.queries : form.keys);
  const int64_t chunks = TilesOf(kValues ? form.values : form.depth);
  const int64_t items = form.batch * form.heads * tiles * chunks;
  const int64_t others = kQueries ? form.keys : form.queries;
  for (int64_t index = blockIdx.x; index < items; index += gridDim.x) {
    const Item item(index, form.heads, tiles, chunks);
    const int64_t n = item.sample, head = item.head;
    const HeadRows<T> target = kQueries  ? task.Queries(to, n, head)
                               : kValues ? task.Values(to, n, head)
                                         : task.Keys(to, n, head);
    const HeadRows<const T> factors = kQueries  ? task.Keys(task.keys, n, head)
                                      : kValues ? task.Tops(task.top_gradient, n, head)
                                                : task.Queries(task.queries, n, head);
    float out[kOwn] = {};
    for (int64_t other = 0; other < others; other += kSide) {
      ComputeTile(task, n, head, kQueries ? item.first : other, kQueries ? other : item.first,
                  room);
      AddWeighted<!kQueries>(kValues ? room.weights : room.gradients, factors, other, item.column,
                             room, out);
    }
    for (int own = 0; own < kOwn; ++own) {
      target.Write(item.first + OwnRow(own), item.column + OwnColumn(),
                   kValues ? out[own] : out[own] * static_cast<float>(form.scale));
    }
  }
}

// Computes the sums of the gradients of the scores: queries x keys for each sample if `samples`,
// else for all of them together, and for each head if `heads`.
template <class T>
__global__ void RunScoreGradient(const Task<T> task, bool samples, bool heads, float* to) {
  __shared__ SharedTiles room;
  const AttentionForm& form = task.form;
  const int64_t own_samples = samples ? form.batch : 1, own_heads = heads ? form.heads : 1;
  const int64_t tiles = TilesOf(form.queries), chunks = TilesOf(form.keys);
  const int64_t items = own_samples * own_heads * tiles * chunks;
  const int64_t pairs = form.batch / own_samples * (form.heads / own_heads);
  for (int64_t index = blockIdx.x; index < items; index += gridDim.x) {
    const Item item(index, own_heads, tiles, chunks);
    float sums[kOwn] = {};
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const int64_t n = samples ? item.sample : pair % form.batch;
      const int64_t head = heads ? item.head : samples ? pair : pair / form.batch;
      ComputeTile(task, n, head, item.first, item.column, room);
      for (int own = 0; own < kOwn; ++own) sums[own] += room.gradients[OwnRow(own)][OwnColumn()];
    }
    const int64_t matrix = item.sample * own_heads + item.head;
    const HeadRows<float> target{to + matrix * form.queries * form.keys, form.queries, form.keys,
                                 form.keys};
    for (int own = 0; own < kOwn; ++own)
      target.Write(item.first + OwnRow(own), item.column + OwnColumn(), sums[own]);
  }
}

}  // namespace attention
}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_ATTENTION_TILES_CUH_

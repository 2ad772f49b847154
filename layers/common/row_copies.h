// Copies of matrix rows that are selected by index (layers/common/row_index.h), and sums over rows,
// on the CPU. Each row has `width` numbers, and every index must be a valid row.
#ifndef DOPPIO_LAYERS_COMMON_ROW_COPIES_H_
#define DOPPIO_LAYERS_COMMON_ROW_COPIES_H_

#include <algorithm>
#include <cstdint>

#include "core/base/threads.h"

namespace doppio {

// to[i] = from[rows[i]] for i in [0, count), in parallel.
template <class T>
void GatherRows(int64_t count, int64_t width, const int32_t* rows, const T* from, T* to) {
  ParallelForEach(count, 1 + 16384 / (width + 1),
                  [=](int64_t i) { std::copy_n(from + rows[i] * width, width, to + i * width); });
}

// to[rows[i]] += from[i] for i in [0, count), in the order of i. Parallel over the columns.
template <class T>
void AddRows(int64_t count, int64_t width, const int32_t* rows, const T* from, T* to) {
  ParallelFor(width, 1 + 16384 / (count + 1), [=](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = begin; j < end; ++j) to[rows[i] * width + j] += from[i * width + j];
    }
  });
}

// Adds `bias` to each of `count` rows.
template <class T>
void AddToRows(int64_t count, int64_t width, const T* bias, T* rows) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < width; ++j) rows[i * width + j] += bias[j];
  }
}

// to[j] = the sum of column j of `count` rows, or adds it to to[j] if `add` is true. Parallel over
// the columns.
template <class T>
void SumColumns(int64_t count, int64_t width, const T* rows, bool add, T* to) {
  ParallelForEach(width, 256, [=](int64_t j) {
    double sum = add ? static_cast<double>(to[j]) : 0;
    for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(rows[i * width + j]);
    to[j] = static_cast<T>(sum);
  });
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_ROW_COPIES_H_

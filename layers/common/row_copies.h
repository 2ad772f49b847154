// Copies of matrix rows that are selected by index, on the CPU (layers/common/row_index.h). Each
// row has `width` numbers, and every index must be a valid row.
#ifndef DOPPIO_LAYERS_COMMON_ROW_COPIES_H_
#define DOPPIO_LAYERS_COMMON_ROW_COPIES_H_

#include <algorithm>
#include <cstdint>

#include "core/base/threads.h"

namespace doppio {

// to[i] = from[rows[i]] for i in [0, count), in parallel.
template <class T>
void GatherRows(int64_t count, int64_t width, const int32_t* rows, const T* from, T* to) {
  ParallelFor(count, 1 + 16384 / (width + 1), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::copy_n(from + rows[i] * width, width, to + i * width);
  });
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

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_ROW_COPIES_H_

// Sums of the elements of several ranks in one memory, in the order of ranks.
#ifndef DOPPIO_PARALLEL_REDUCE_SUM_IN_ORDER_H_
#define DOPPIO_PARALLEL_REDUCE_SUM_IN_ORDER_H_

#include <algorithm>
#include <cstdint>

#include "core/tensor/half.h"

namespace doppio {

// Sums elements [begin, end) of all ranks. `from(r)` returns the elements of rank r. Calls
// write(i, sums, n) with the sums of elements [i, i + n), which are complete before they are
// written, so `write` may replace the ranks' elements. 16-bit elements are summed in single
// precision.
template <class T, class From, class Write>
void SumInOrder(int ranks, int64_t begin, int64_t end, const From& from, const Write& write) {
  using Sum = ComputeType<T>;
  constexpr int64_t kBlock = 4096;  // a block stays in the L1 cache while it is summed
  Sum sums[kBlock];
  for (int64_t i = begin; i < end; i += kBlock) {
    const int64_t n = std::min(kBlock, end - i);
    const T* first = from(0) + i;
    for (int64_t k = 0; k < n; ++k) sums[k] = static_cast<Sum>(first[k]);
    for (int r = 1; r < ranks; ++r) {
      const T* next = from(r) + i;
      for (int64_t k = 0; k < n; ++k) sums[k] += static_cast<Sum>(next[k]);
    }
    write(i, static_cast<const Sum*>(sums), n);
  }
}

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_SUM_IN_ORDER_H_

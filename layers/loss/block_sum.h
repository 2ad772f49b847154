// Sums over many elements in parallel, in an order that does not depend on the number of threads.
#ifndef DOPPIO_LAYERS_LOSS_BLOCK_SUM_H_
#define DOPPIO_LAYERS_LOSS_BLOCK_SUM_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/threads.h"

namespace doppio {

// Adds up n elements. Only the first sum allocates memory. Not thread-safe.
class BlockSum {
 public:
  explicit BlockSum(int64_t n) : n_(n) {}

  // Returns the sum of block(0, n), where `block(begin, end)` returns the sum of that range as
  // double. Calls `block` from several threads for parts of fixed size and adds their sums in
  // order.
  template <class F>
  double operator()(const F& block) {
    sums_.resize(static_cast<size_t>((n_ + kBlock - 1) / kBlock));
    ParallelForEach(static_cast<int64_t>(sums_.size()), 2, [&](int64_t b) {
      sums_[b] = block(b * kBlock, std::min(n_, (b + 1) * kBlock));
    });
    return std::accumulate(sums_.begin(), sums_.end(), 0.0);
  }

 private:
  static constexpr int64_t kBlock = 4096;
  int64_t n_;
  std::vector<double> sums_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_BLOCK_SUM_H_

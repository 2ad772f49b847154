// Division of indices by extents that are known before a kernel launch. A GPU divides integers in
// some twenty instructions, more than fit into the memory latency of an element-wise kernel.
// Divider<int32_t> multiplies instead.
#ifndef DOPPIO_LAYERS_COMMON_DIVIDER_H_
#define DOPPIO_LAYERS_COMMON_DIVIDER_H_

#include <algorithm>
#include <cstdint>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

// Divider<Int>(d)(n) returns n / d for n >= 0 and d >= 1. An extent of 0 counts as 1, because no
// index is divided by it.
template <class Int>
class Divider {
 public:
  Divider() = default;
  explicit Divider(int64_t by) : by_(std::max<int64_t>(1, by)) {}
  DOPPIO_HD int64_t operator()(int64_t n) const { return n / by_; }

 private:
  int64_t by_ = 1;
};

// n / d = n * ceil(2^p / d) / 2^p, rounded down, where 2^p is at least 2^31 * d. Rounding the
// factor up makes the quotient too large by less than n / 2^p < 1 / d, so it never reaches the next
// integer.
template <>
class Divider<int32_t> {
 public:
  Divider() = default;
  explicit Divider(int64_t extent) {
    const int64_t by = std::max<int64_t>(1, extent);
    while ((int64_t{1} << (shift_ - 31)) < by) ++shift_;
    factor_ = static_cast<uint32_t>(((uint64_t{1} << shift_) + static_cast<uint64_t>(by) - 1) /
                                    static_cast<uint64_t>(by));
  }
  DOPPIO_HD int32_t operator()(int32_t n) const {
    return static_cast<int32_t>((static_cast<uint64_t>(static_cast<uint32_t>(n)) * factor_) >>
                                shift_);
  }

 private:
  int shift_ = 31;
  uint32_t factor_ = 1u << 31;
};

// Returns n / divisor for 0 <= n <= most, with 32-bit arithmetic if `divisor` and `most` fit.
class IndexDivider {
 public:
  IndexDivider(int64_t divisor, int64_t most)
      : narrow_(std::max(divisor, most) <= INT32_MAX),
        by_32_(narrow_ ? divisor : 1),
        by_64_(divisor) {}
  DOPPIO_HD int64_t operator()(int64_t n) const {
    return narrow_ ? by_32_(static_cast<int32_t>(n)) : by_64_(n);
  }

 private:
  bool narrow_;
  Divider<int32_t> by_32_;
  Divider<int64_t> by_64_;
};

// Calls f(int32_t()) if indices up to `largest` fit into 32 bits, else f(int64_t()).
template <class F>
void WithIndexFor(int64_t largest, const F& f) {
  if (largest <= INT32_MAX) {
    f(int32_t{});
  } else {
    f(int64_t{});
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_DIVIDER_H_

// Which rows Filter takes, and where they go: the same on every device, found on the host.
#ifndef DOPPIO_LAYERS_SHAPE_FILTER_ROWS_H_
#define DOPPIO_LAYERS_SHAPE_FILTER_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "layers/common/row_index.h"

namespace doppio {

class FilterRows {
 public:
  explicit FilterRows(int64_t all)
      : source_(static_cast<size_t>(all)), target_(static_cast<size_t>(all)) {}

  // A row is taken where its number in `selector` is not 0.
  template <class T>
  void Choose(const T* selector) {
    taken_ = 0;
    for (size_t i = 0; i < source_.size(); ++i) {
      target_[i] = selector[i] != T(0) ? static_cast<int32_t>(taken_) : kNoRow;
      if (target_[i] != kNoRow) source_[static_cast<size_t>(taken_++)] = static_cast<int32_t>(i);
    }
    // What stands behind them is of no account, but must be numbers that layers can compute with:
    // those of the first one.
    std::fill(source_.begin() + taken_, source_.end(), taken_ > 0 ? source_[0] : 0);
  }

  int64_t all() const { return static_cast<int64_t>(source_.size()); }
  // The number of rows taken; its address stays the same.
  const int64_t& taken() const { return taken_; }
  // For each row of the tops, the one of the bottoms that it shows.
  const int32_t* source() const { return source_.data(); }
  // For each row of the bottoms, the one of the tops that it has become; kNoRow: it was not taken.
  const int32_t* target() const { return target_.data(); }

 private:
  std::vector<int32_t> source_, target_;
  int64_t taken_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_FILTER_ROWS_H_

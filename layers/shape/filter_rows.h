// The rows that Filter takes, and their positions in the tops. Computed on the host, shared by all
// devices.
#ifndef DOPPIO_LAYERS_SHAPE_FILTER_ROWS_H_
#define DOPPIO_LAYERS_SHAPE_FILTER_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "layers/common/row_index.h"

namespace doppio {

// Not thread-safe.
class FilterRows {
 public:
  // For bottoms of `all` rows. Only the first choice allocates memory.
  explicit FilterRows(int64_t all) : all_(all) {}

  // Takes each row whose value in `selector`, in host memory, is not 0.
  template <class T>
  void Choose(const T* selector) {
    source_.resize(static_cast<size_t>(all_));
    target_.resize(source_.size());
    taken_ = 0;
    for (size_t i = 0; i < source_.size(); ++i) {
      target_[i] = selector[i] != T(0) ? static_cast<int32_t>(taken_) : kNoRow;
      if (target_[i] != kNoRow) source_[taken_++] = static_cast<int32_t>(i);
    }
    // The rows after the taken ones do not count, but layers must be able to compute with them, so
    // they repeat the first taken row.
    std::fill(source_.begin() + taken_, source_.end(), taken_ > 0 ? source_[0] : 0);
  }

  // Returns the number of rows of the bottoms.
  int64_t all() const { return all_; }
  // Returns the number of taken rows. The address never changes.
  const int64_t& taken() const { return taken_; }
  // Valid after Choose. Returns, for each row of the tops, the row of the bottoms that it copies.
  const int32_t* source() const { return source_.data(); }
  // Returns, for each row of the bottoms, its row in the tops, or kNoRow if it was not taken.
  const int32_t* target() const { return target_.data(); }

 private:
  const int64_t all_;
  std::vector<int32_t> source_, target_;
  int64_t taken_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_FILTER_ROWS_H_

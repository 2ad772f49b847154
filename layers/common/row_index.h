// Numbers of rows as they travel in blobs, among all other data (Embed, BatchReindex). Caffe cuts
// them to integers, and so do we; one that is no row, behind which Caffe's release builds read on,
// is an error here.
#ifndef DOPPIO_LAYERS_COMMON_ROW_INDEX_H_
#define DOPPIO_LAYERS_COMMON_ROW_INDEX_H_

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

#include "core/base/error.h"
#include "core/base/host_device.h"

namespace doppio {

constexpr int32_t kNoRow = -1;

class IndexReader {
 public:
  // `because`, a string constant, says in an error where the number of rows comes from.
  IndexReader(int64_t rows, const char* because) : rows_(rows), because_(because) {}

  int64_t rows() const { return rows_; }

  // kNoRow for what is none, NaN too.
  template <class T>
  DOPPIO_HD int32_t Row(T index) const {
    const T cut = std::trunc(index);
    return cut >= 0 && cut < static_cast<T>(rows_) ? static_cast<int32_t>(cut) : kNoRow;
  }

  // Throws at `at`, the layer's place, for the first of `count` indices that is no row.
  template <class T>
  void Read(const SourceLoc& at, const T* indices, int64_t count, int32_t* rows) const {
    for (int64_t i = 0; i < count; ++i) {
      rows[i] = Row(indices[i]);
      if (rows[i] == kNoRow) Fail(at, static_cast<double>(indices[i]), i, 1);
    }
  }

  // Index number `position` is wrong. Labels have positions in a sample, indices do not.
  [[noreturn]] void Fail(const SourceLoc& at, double index, int64_t position, int64_t) const {
    std::ostringstream text;
    text << "index " << index << " at position " << position << " is outside 0.." << rows_ - 1
         << ": " << because_ << "; correct the indices or the number of rows";
    throw UserError(at, text.str());
  }

 private:
  int64_t rows_;
  const char* because_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_ROW_INDEX_H_

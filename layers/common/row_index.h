// Row indices that are stored in blobs (Embed, BatchReindex). They are truncated to integers, as in
// Caffe. An index out of range is an error here; Caffe's release builds read past the matrix
// instead.
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
  // `rows` is the number of rows. `because` is a string constant for error messages, which says
  // where that number comes from.
  IndexReader(int64_t rows, const char* because) : rows_(rows), because_(because) {}

  int64_t rows() const { return rows_; }

  // Returns the row of `index`, or kNoRow if the index is out of range or NaN.
  template <class T>
  DOPPIO_HD int32_t Row(T index) const {
    const T cut = std::trunc(index);
    return cut >= 0 && cut < static_cast<T>(rows_) ? static_cast<int32_t>(cut) : kNoRow;
  }

  // Converts `count` indices to rows. Throws UserError at `at`, the layer's place in its file, for
  // the first index that is out of range.
  template <class T>
  void Read(const SourceLoc& at, const T* indices, int64_t count, int32_t* rows) const {
    for (int64_t i = 0; i < count; ++i) {
      rows[i] = Row(indices[i]);
      if (rows[i] == kNoRow) Fail(at, static_cast<double>(indices[i]), i, 1);
    }
  }

  // Throws UserError for the index at `position`. The last argument exists only because
  // LabelReader::Fail has one.
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

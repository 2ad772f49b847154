#include "data/pipeline/remarks.h"

#include <utility>

#include "core/base/log.h"

namespace doppio {

Remarks::~Remarks() {
  if (bad_boxes_.size() < 2) return;
  LOG(WARNING) << bad_boxes_.size() << " records had boxes " << kUnusableBoxes
               << ", which were left out; the first of them: " << first_;
}

void Remarks::Take(const RecordRemarks& remarks, const Source& source, int64_t index) {
  if (!remarks.narrowed && !remarks.palette_as_gray && !remarks.lossy_labels &&
      remarks.dropped_boxes == 0)
    return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (remarks.narrowed && !std::exchange(narrowed_, true)) {
    LOG(WARNING) << source.Name(index)
                 << " has values of more than 8 bits, of which the upper 8 are used; this is not "
                    "repeated for other images";
  }
  if (remarks.palette_as_gray && !std::exchange(palette_as_gray_, true)) {
    LOG(WARNING) << source.Name(index) << kPaletteAsGray
                 << "; this is not repeated for other images";
  }
  if (remarks.lossy_labels && !std::exchange(lossy_labels_, true)) {
    LOG(WARNING) << source.Name(index)
                 << " has its labels in a JPEG, whose compression changes them; store them in a "
                    "PNG. This is not repeated for other images";
  }
  if (remarks.dropped_boxes == 0 || !bad_boxes_.insert(index).second || bad_boxes_.size() > 1)
    return;
  first_ = source.Name(index);
  const bool one = remarks.dropped_boxes == 1;
  LOG(WARNING) << first_ << ": " << remarks.dropped_boxes << (one ? " box " : " boxes ")
               << kUnusableBoxes << (one ? " is" : " are")
               << " left out; this is not repeated for other records";
}

}  // namespace doppio

// Logs what users should know about the records of a source, once for each kind. Thread-safe.
#ifndef DOPPIO_DATA_PIPELINE_REMARKS_H_
#define DOPPIO_DATA_PIPELINE_REMARKS_H_

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "data/record/source.h"

namespace doppio {

class Remarks {
 public:
  Remarks() = default;
  // Logs the number of records with unusable boxes if it is more than one.
  ~Remarks();
  Remarks(const Remarks&) = delete;
  Remarks& operator=(const Remarks&) = delete;

  // Takes the remarks about record `index` of `source`, which has been read and decoded. Names the
  // first record of each kind.
  void Take(const RecordRemarks& remarks, const Source& source, int64_t index);

 private:
  std::mutex mutex_;
  bool narrowed_ = false, palette_as_gray_ = false, lossy_labels_ = false;
  std::set<int64_t> bad_boxes_;  // the records with unusable boxes
  std::string first_;            // the name of the first one
};

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_REMARKS_H_

// Which records of a source a pipeline has left out because they cannot be used, and how many it
// may. Used by all threads of the pipeline.
#ifndef DOPPIO_DATA_PIPELINE_BAD_RECORDS_H_
#define DOPPIO_DATA_PIPELINE_BAD_RECORDS_H_

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "core/base/error.h"

namespace doppio {

class BadRecords {
 public:
  // At most `most` records, and not all of the source's `records`.
  BadRecords(int64_t most, int64_t records);

  // Leaves a record out, and logs its name and `reason` the first time. Throws the reason with the
  // name if there are too many, or if it is not about a file's content (ExitCode::kFile).
  void LeaveOut(int64_t index, const std::string& name, const Error& reason);
  int64_t count() const;  // of different records

 private:
  const int64_t most_;
  mutable std::mutex mutex_;
  std::set<int64_t> left_out_;  // guarded
};

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_BAD_RECORDS_H_

// Records the bad records that a pipeline has skipped, and limits their number. Thread-safe.
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
  // Allows at most `max_skipped` records to be skipped, and never all of the source's `records`.
  BadRecords(int64_t max_skipped, int64_t records);

  // Skips record `index`. Logs `name` and `reason` the first time. Throws `reason` with `name`
  // as context if the limit is exceeded, or if the error is not about a file's content
  // (ExitCode::kFile).
  void Skip(int64_t index, const std::string& name, const Error& reason);
  // Returns the number of different records skipped so far.
  int64_t count() const;

 private:
  const int64_t max_skipped_;
  mutable std::mutex mutex_;
  std::set<int64_t> skipped_;  // guarded by mutex_
};

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_BAD_RECORDS_H_

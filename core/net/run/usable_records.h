// Finds the records that all sources of a group can use, so that a bad record in one source is left
// out in all of them. Thread-safe.
#ifndef DOPPIO_CORE_NET_RUN_USABLE_RECORDS_H_
#define DOPPIO_CORE_NET_RUN_USABLE_RECORDS_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/base/sample_set.h"

namespace doppio {

class UsableRecords {
 public:
  // `count` is the number of records, 0 if the sources have no end. Asks the probes in this order,
  // up to the first that returns false, so that each bad record counts once.
  UsableRecords(int64_t count, std::vector<RecordProbe> probes);

  // Returns `index` or the next record that all sources can use. The result does not depend on
  // earlier calls. Throws what the probes throw, and FileError if there is no such record.
  int64_t From(int64_t index);

 private:
  bool IsUsable(int64_t index);

  const int64_t count_;
  const std::vector<RecordProbe> probes_;
  std::mutex mutex_;
  std::vector<bool> known_, usable_;  // guarded by mutex_; empty if count_ is 0
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_USABLE_RECORDS_H_

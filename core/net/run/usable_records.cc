#include "core/net/run/usable_records.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace doppio {

UsableRecords::UsableRecords(int64_t count, std::vector<RecordProbe> probes)
    : count_(count), probes_(std::move(probes)), known_(count), usable_(count) {}

int64_t UsableRecords::From(int64_t index) {
  for (int64_t tried = 0; count_ == 0 || tried < count_; ++tried) {
    if (IsUsable(index)) return index;
    ++index;
    if (index == count_) index = 0;
  }
  throw FileError("no record is left that all sources of the group can use");
}

// Two threads may ask the probes for one record at once; they get the same answer.
bool UsableRecords::IsUsable(int64_t index) {
  if (count_ > 0) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (known_[index]) return usable_[index];
  }
  const bool usable = std::all_of(probes_.begin(), probes_.end(),
                                  [index](const RecordProbe& probe) { return probe(index); });
  if (count_ == 0) return usable;
  const std::lock_guard<std::mutex> lock(mutex_);
  known_[index] = true;
  usable_[index] = usable;
  return usable;
}

}  // namespace doppio

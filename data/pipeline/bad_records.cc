#include "data/pipeline/bad_records.h"

#include <algorithm>

#include "core/base/log.h"

namespace doppio {

BadRecords::BadRecords(int64_t max_skipped, int64_t records)
    : max_skipped_(std::min(max_skipped, records - 1)) {}

void BadRecords::Skip(int64_t index, const std::string& name, const Error& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (reason.code() == ExitCode::kFile && skipped_.count(index) > 0) return;
  const auto count = static_cast<int64_t>(skipped_.size());
  if (reason.code() != ExitCode::kFile || max_skipped_ <= 0) RethrowWithContext(reason, {}, name);
  if (count >= max_skipped_) {
    RethrowWithContext(
        reason, {},
        "one bad record more than may be skipped (" + std::to_string(max_skipped_) + "): " + name);
  }
  skipped_.insert(index);
  LOG(WARNING) << "bad record " << count + 1 << " (of at most " << max_skipped_
               << ") is skipped: " << name << ": " << reason.message();
}

int64_t BadRecords::count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(skipped_.size());
}

}  // namespace doppio

#include "parallel/watch/stall_watch.h"

#include <algorithm>
#include <string>

#include "core/base/threads.h"

namespace doppio {

StallWatch::StallWatch(int ranks, const WatchOptions& options) : options_(options), ranks_(ranks) {
  if (options_.on_lost) thread_ = std::thread([this] { Run(); });
}

StallWatch::~StallWatch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StallWatch::Moved(int rank, int64_t bucket) {
  Rank& own = ranks_[rank];
  if (bucket >= 0) own.bucket.store(bucket, std::memory_order_relaxed);
  own.progress.fetch_add(1, std::memory_order_relaxed);
}

void StallWatch::Leave(int rank) {
  Moved(rank, -1);
  some_left_ = true;
}

void StallWatch::Run() {
  UseAllCores();
  const TimeSource& clock = *options_.clock;
  const double beat = std::min(0.5, options_.stall_seconds / 4);
  uint64_t seen = 0;
  double moved_at = clock.Now();
  for (;;) {
    const double next = clock.Now() + beat;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      while (!stopped_ && clock.Now() < next) clock.Wait(&lock, &stop_, next);
      if (stopped_) return;
    }
    uint64_t progress = 0;
    for (const Rank& rank : ranks_) progress += rank.progress;
    if (progress != seen || some_left_) {
      seen = progress;
      moved_at = clock.Now();
    } else if (clock.Now() - moved_at >= options_.stall_seconds) {
      Report();
      return;
    }
  }
}

void StallWatch::Report() const {
  const auto least =
      std::min_element(ranks_.begin(), ranks_.end(),
                       [](const Rank& a, const Rank& b) { return a.progress < b.progress; });
  const int64_t bucket = least->bucket;
  options_.on_lost({"no rank has made progress for " +
                        std::to_string(static_cast<int>(options_.stall_seconds)) + " s; rank " +
                        std::to_string(least - ranks_.begin()) + " is behind the others" +
                        (bucket >= 0 ? ", last seen at bucket " + std::to_string(bucket) : "") +
                        " (--stall_timeout)",
                    ExitCode::kPeer, true});
}

}  // namespace doppio

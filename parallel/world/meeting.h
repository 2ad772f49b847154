// Where ranks that are threads of one process meet, to look at each other's memory.
#ifndef DOPPIO_PARALLEL_WORLD_MEETING_H_
#define DOPPIO_PARALLEL_WORLD_MEETING_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace doppio {

// All ranks call the same in the same order. Between Arrive and Leave each may use what others have
// shown: nobody gets away before all are done, not even where somebody has aborted. An Arrive alone
// is a barrier.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size), shown_(static_cast<size_t>(size)) {}

  // Returns when all have come. What each showed before it came can be seen until it leaves.
  void Arrive() {
    std::unique_lock<std::mutex> lock(mutex_);
    ThrowIfAbortedLocked();
    if (!Wait(&lock, true)) ThrowIfAbortedLocked();
  }
  // Returns when all have done what they came for, which nobody keeps them from.
  void Leave() {
    std::unique_lock<std::mutex> lock(mutex_);
    Wait(&lock, false);
  }

  void Show(int rank, void* data) { shown_[static_cast<size_t>(rank)] = data; }
  template <class T>
  T* Shown(int rank) const {
    return static_cast<T*>(shown_[static_cast<size_t>(rank)]);
  }

  // Whoever waits for others to come, and everybody who comes later, throws PeerError with the
  // first `why`.
  void Abort(const std::string& why) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (aborted_) return;
    aborted_ = true;
    why_ = why;
    changed_.notify_all();
  }
  void ThrowIfAborted() const {
    std::lock_guard<std::mutex> lock(mutex_);
    ThrowIfAbortedLocked();
  }

  int size() const { return size_; }

 private:
  // Whether all have come.
  bool Wait(std::unique_lock<std::mutex>* lock, bool abortable) {
    const int64_t meeting = meetings_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++meetings_;
      changed_.notify_all();
      return true;
    }
    changed_.wait(*lock, [&] { return meetings_ != meeting || (abortable && aborted_); });
    return meetings_ != meeting;
  }
  void ThrowIfAbortedLocked() const {
    if (aborted_) throw PeerError(why_);
  }

  const int size_;
  std::vector<void*> shown_;  // Arrive orders writers and readers
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  int64_t meetings_ = 0;
  bool aborted_ = false;
  std::string why_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WORLD_MEETING_H_

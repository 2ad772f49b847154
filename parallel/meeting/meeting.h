// A meeting point for ranks that are threads of one process, where they access each other's memory.
#ifndef DOPPIO_PARALLEL_MEETING_MEETING_H_
#define DOPPIO_PARALLEL_MEETING_MEETING_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace doppio {

// All ranks must make the same calls in the same order. Between Arrive and Leave, each rank may use
// the data that other ranks have shown: Leave blocks until all ranks are done, even after an abort.
// An Arrive alone is a barrier.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size), shown_(size) {}

  // Blocks until all ranks have arrived. The data that each rank has shown before is visible until
  // it leaves. Throws PeerError after an abort.
  void Arrive() {
    std::unique_lock<std::mutex> lock(mutex_);
    ThrowIfAbortedLocked();
    if (!Wait(&lock, true)) ThrowIfAbortedLocked();
  }
  // Blocks until all ranks are done with the shown data. An abort does not end this wait.
  void Leave() {
    std::unique_lock<std::mutex> lock(mutex_);
    Wait(&lock, false);
  }

  // Shows `data` to the other ranks; call it before Arrive. Shown returns it as a pointer to T.
  void Show(int rank, void* data) { shown_[rank] = data; }
  template <class T>
  T* Shown(int rank) const {
    return static_cast<T*>(shown_[rank]);
  }

  // Wakes all ranks that wait in Arrive. They, and all later calls of Arrive, throw PeerError with
  // the first `why`.
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
  bool aborted() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return aborted_;
  }

  int size() const { return size_; }

 private:
  // Returns true if all ranks have arrived, false if the wait was aborted.
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
  std::vector<void*> shown_;  // not guarded: Arrive orders writers and readers
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  int64_t meetings_ = 0;
  bool aborted_ = false;
  std::string why_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MEETING_MEETING_H_

#include "parallel/gpu/pass_gate.h"

#include "core/base/error.h"

namespace doppio {

void PassGate::Announce(int rank, int64_t pass, bool fresh) {
  if (moved_) moved_(rank);
  std::lock_guard<std::mutex> lock(mutex_);
  ThrowIfAbortedLocked();
  Announced& announced = passes_[pass];
  ++announced.ranks;
  announced.fresh = announced.fresh || fresh;
  if (announced.ranks == ranks_) changed_.notify_all();
}

bool PassGate::AnyFresh(int64_t pass) {
  std::unique_lock<std::mutex> lock(mutex_);
  ThrowIfAbortedLocked();
  Announced& announced = passes_[pass];  // references to map elements stay valid
  changed_.wait(lock, [&] { return announced.ranks == ranks_ || aborted_; });
  if (announced.ranks < ranks_) ThrowIfAbortedLocked();
  const bool fresh = announced.fresh;
  if (++announced.asked == ranks_) passes_.erase(pass);
  return fresh;
}

void PassGate::Arrive(int rank) {
  if (moved_) moved_(rank);
  std::unique_lock<std::mutex> lock(mutex_);
  ThrowIfAbortedLocked();
  const int64_t arrivals = arrivals_;
  if (++arrived_ == ranks_) {
    arrived_ = 0;
    ++arrivals_;
    changed_.notify_all();
    return;
  }
  changed_.wait(lock, [&] { return arrivals_ != arrivals || aborted_; });
  if (arrivals_ == arrivals) ThrowIfAbortedLocked();
}

void PassGate::Abort(const std::string& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (aborted_) return;
  aborted_ = true;
  why_ = why;
  changed_.notify_all();
}

void PassGate::ThrowIfAbortedLocked() const {
  if (aborted_) throw PeerError(why_);
}

}  // namespace doppio

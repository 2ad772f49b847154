#include "parallel/gpu/pass_gate.h"

namespace doppio {

void PassGate::Announce(int rank, int64_t pass, bool fresh) {
  if (moved_) moved_(rank);
  std::lock_guard<std::mutex> lock(mutex_);
  ranks_.ThrowIfAborted();
  Announced& announced = passes_[pass];
  ++announced.ranks;
  announced.fresh = announced.fresh || fresh;
  if (announced.ranks == ranks_.size()) changed_.notify_all();
}

bool PassGate::AnyFresh(int64_t pass) {
  std::unique_lock<std::mutex> lock(mutex_);
  ranks_.ThrowIfAborted();
  Announced& announced = passes_[pass];  // references to map elements stay valid
  changed_.wait(lock, [&] { return announced.ranks == ranks_.size() || ranks_.aborted(); });
  if (announced.ranks < ranks_.size()) ranks_.ThrowIfAborted();
  const bool fresh = announced.fresh;
  if (++announced.asked == ranks_.size()) passes_.erase(pass);
  return fresh;
}

void PassGate::Arrive(int rank) {
  if (moved_) moved_(rank);
  ranks_.Arrive();
}

void PassGate::Abort(const std::string& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  ranks_.Abort(why);
  changed_.notify_all();
}

}  // namespace doppio

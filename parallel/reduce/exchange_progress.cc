#include "parallel/reduce/exchange_progress.h"

#include <utility>

namespace doppio {

void ExchangeProgress::Started(std::exception_ptr failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++started_;
  if (failure && !failure_) failure_ = std::move(failure);
  changed_.notify_all();
}

void ExchangeProgress::Settled(size_t reduced, double seconds, std::exception_ptr failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reduced_ += reduced;
  busy_seconds_ += seconds;
  settled_ = started_;
  if (failure && !failure_) failure_ = std::move(failure);
  changed_.notify_all();
}

void ExchangeProgress::Hold(bool holds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  holds_ = holds;
}

bool ExchangeProgress::AllSettled() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return settled_ == started_;
}

bool ExchangeProgress::holds() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return holds_;
}

// Blocks until `done()`, which is called under mutex_.
template <class F>
void ExchangeProgress::Await(const F& done) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return done() || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

void ExchangeProgress::AwaitStart(int64_t asked) {
  Await([&] { return (holds_ ? settled_ : started_) == asked; });
}

void ExchangeProgress::AwaitAll(int64_t asked) {
  Await([&] { return settled_ == asked; });
}

void ExchangeProgress::AwaitBucket(size_t bucket) {
  Await([&] { return reduced_ > bucket; });
}

void ExchangeProgress::NextPass() {
  const std::lock_guard<std::mutex> lock(mutex_);
  reduced_ = 0;
}

double ExchangeProgress::AddBusy(double seconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return busy_seconds_ += seconds;
}

}  // namespace doppio

// A bounded queue between threads that also carries the producer's failure and the consumer's wish
// to stop.
#ifndef DOPPIO_CORE_BASE_QUEUE_H_
#define DOPPIO_CORE_BASE_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

namespace doppio {

template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Blocks while full. False when the queue was closed: the producer should end.
  bool Push(T value) {
    std::unique_lock<std::mutex> lock(mutex_);
    not_full_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(value));
    not_empty_.notify_one();
    return true;
  }

  // Blocks while empty. Rethrows what Fail() was given once the items before it are gone.
  // False when closed and empty.
  bool Pop(T* value) {
    std::unique_lock<std::mutex> lock(mutex_);
    not_empty_.wait(lock, [&] { return closed_ || failure_ || !items_.empty(); });
    if (items_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return false;
    }
    *value = std::move(items_.front());
    items_.pop_front();
    not_full_.notify_one();
    return true;
  }

  // Returns true if Pop would return or throw at once.
  bool Ready() {
    std::lock_guard<std::mutex> lock(mutex_);
    return closed_ || failure_ || !items_.empty();
  }

  // Hands an exception of the producer to whoever pops.
  void Fail(std::exception_ptr failure) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_ = failure;
    not_empty_.notify_all();
  }

  // Wakes everybody; nothing more is taken in.
  void Close() {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    not_full_.notify_all();
    not_empty_.notify_all();
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable not_full_, not_empty_;
  std::deque<T> items_;
  std::exception_ptr failure_;
  bool closed_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_QUEUE_H_

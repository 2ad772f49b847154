// A bounded queue between threads. A producer can pass an exception to the consumer, and either
// side can close the queue.
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

  // Blocks while the queue is full. Returns false if the queue is closed; the producer should then
  // stop.
  bool Push(T value) {
    std::unique_lock<std::mutex> lock(mutex_);
    not_full_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(value));
    not_empty_.notify_one();
    return true;
  }

  // Blocks until an item is available. After Fail(e), returns the remaining items, then throws e.
  // Returns false if the queue is closed and empty.
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

  // Returns true if Pop would return or throw without blocking.
  bool Ready() {
    std::lock_guard<std::mutex> lock(mutex_);
    return closed_ || failure_ || !items_.empty();
  }

  // Makes Pop throw `failure` after the remaining items. Only the first failure is kept.
  void Fail(std::exception_ptr failure) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_ = failure;
    not_empty_.notify_all();
  }

  // Closes the queue: wakes all waiting threads and rejects further items. Pop still returns the
  // remaining items.
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

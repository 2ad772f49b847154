// A bounded queue between threads. Either side can close it.
#ifndef DOPPIO_CORE_BASE_QUEUE_H_
#define DOPPIO_CORE_BASE_QUEUE_H_

#include <condition_variable>
#include <deque>
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

  // Blocks until an item is available. Returns false if the queue is closed and empty.
  bool Pop(T* value) {
    std::unique_lock<std::mutex> lock(mutex_);
    not_empty_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return false;
    *value = std::move(items_.front());
    items_.pop_front();
    not_full_.notify_one();
    return true;
  }

  // Returns true if Pop would return without blocking.
  bool Ready() {
    std::lock_guard<std::mutex> lock(mutex_);
    return closed_ || !items_.empty();
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
  bool closed_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_QUEUE_H_

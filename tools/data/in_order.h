// Runs independent tasks in several threads and passes their results to the caller in order.
#ifndef DOPPIO_TOOLS_DATA_IN_ORDER_H_
#define DOPPIO_TOOLS_DATA_IN_ORDER_H_

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/threads.h"

namespace doppio {

namespace in_order {

// Ends the workers of InOrder and waits for them.
struct Join {
  std::vector<std::thread>* workers;
  std::mutex* mutex;
  std::condition_variable* taken;
  bool* stop;
  ~Join() {
    {
      std::lock_guard<std::mutex> lock(*mutex);
      *stop = true;
    }
    taken->notify_all();
    for (std::thread& worker : *workers) worker.join();
  }
};

}  // namespace in_order

// Calls `make(i)` for all i in [0, n) in `threads` worker threads, and `take(i, result)` for i = 0,
// 1, ... in the calling thread. Blocks until all results are taken. At most 4 * `threads` results
// wait at a time. If make(i) throws, InOrder rethrows the exception in place of take(i, ...). After
// an exception from `make` or `take`, the workers finish their current calls and the remaining
// items are skipped.
template <class Make, class Take>
void InOrder(int64_t n, int threads, const Make& make, const Take& take) {
  using Result = decltype(make(int64_t{0}));
  struct Made {
    Result result;
    std::exception_ptr failure;
  };
  constexpr int64_t kAhead = 4;  // items per thread
  std::mutex mutex;
  std::condition_variable made, taken;
  std::map<int64_t, Made> waiting;
  int64_t next = 0, due = 0;
  bool stop = false;

  const auto work = [&] {
    UseAllCores();
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      taken.wait(lock, [&] { return stop || next >= n || next < due + kAhead * threads; });
      if (stop || next >= n) return;
      const int64_t i = next++;
      lock.unlock();
      Made item{};
      try {
        item.result = make(i);
      } catch (...) {
        item.failure = std::current_exception();
      }
      lock.lock();
      waiting.emplace(i, std::move(item));
      made.notify_one();
    }
  };
  std::vector<std::thread> workers;
  const in_order::Join join{&workers, &mutex, &taken, &stop};
  for (int t = 0; t < threads; ++t) workers.emplace_back(work);

  for (int64_t i = 0; i < n; ++i) {
    std::unique_lock<std::mutex> lock(mutex);
    made.wait(lock, [&] { return waiting.count(i) > 0; });
    Made item = std::move(waiting.at(i));
    waiting.erase(i);
    due = i + 1;
    lock.unlock();
    taken.notify_all();
    if (item.failure) std::rethrow_exception(item.failure);
    take(i, std::move(item.result));
  }
}

// Returns `given` (the value of --data_threads) if it is positive; otherwise the number of cores
// available to the process.
inline int ThreadsOr(int given) { return given > 0 ? given : std::max(1, ProcessCores()); }

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IN_ORDER_H_

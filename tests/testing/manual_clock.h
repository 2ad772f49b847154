// A clock whose time a test sets, for code that takes a TimeSource:
//
//   ManualClock clock;
//   options.clock = &clock;
//   Watch watch(control, options);
//   EXPECT_TRUE(clock.Advance(0.5, 1));  // the watch's thread has seen the new time
#ifndef DOPPIO_TESTS_TESTING_MANUAL_CLOCK_H_
#define DOPPIO_TESTS_TESTING_MANUAL_CLOCK_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <set>

#include "core/base/clock.h"

namespace doppio {

// Stands still except in Advance. Thread-safe. Must outlive the threads that wait.
class ManualClock : public TimeSource {
 public:
  double Now() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return now_;
  }
  void Wait(std::unique_lock<std::mutex>* lock, std::condition_variable* wake,
            double until) const override {
    const Waiting waiting(this, until);
    // Returns after each look: a notification while a wait that is over takes the lock again would
    // be lost here, but the caller sees what it was about.
    if (Now() < until) wake->wait_for(*lock, kLook);
  }
  int Poll(pollfd* waits, size_t count, double until) const override {
    const Waiting waiting(this, until);
    for (;;) {
      const bool over = Now() >= until;
      const int ready = poll(waits, count, over ? 0 : static_cast<int>(kLook.count()));
      if (ready == 0 && !over) continue;
      const std::lock_guard<std::mutex> lock(mutex_);
      events_ += std::max(ready, 0);
      return ready;
    }
  }

  // Returns the number of events that Poll has returned, such as messages that have come. Messages
  // between waiting threads may still be under way; a test must wait for them.
  int64_t events() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return events_;
  }
  // Returns the number of threads that wait for a later time than the current one. A thread that
  // looks at the time does not count for a moment.
  int waiting() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return WaitingLocked();
  }
  // Advances the time by `seconds`, and blocks until `threads` threads have seen the new time and
  // wait for a later one. Returns false if they do not within a minute, for example because one has
  // ended.
  bool Advance(double seconds, int threads = 0) {
    std::unique_lock<std::mutex> lock(mutex_);
    now_ += seconds;
    return changed_.wait_for(lock, std::chrono::minutes(1),
                             [&] { return WaitingLocked() >= threads; });
  }

 private:
  // Waiting threads look at the time this often.
  static constexpr std::chrono::milliseconds kLook{1};

  // A thread's wait until a time.
  class Waiting {
   public:
    Waiting(const ManualClock* clock, double until) : clock_(clock) {
      const std::lock_guard<std::mutex> lock(clock_->mutex_);
      until_ = clock_->until_.insert(until);
      clock_->changed_.notify_all();
    }
    ~Waiting() {
      const std::lock_guard<std::mutex> lock(clock_->mutex_);
      clock_->until_.erase(until_);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    const ManualClock* const clock_;
    std::multiset<double>::iterator until_;
  };

  int WaitingLocked() const {
    return static_cast<int>(std::distance(until_.upper_bound(now_), until_.end()));
  }

  mutable std::mutex mutex_;  // guards the members below
  mutable std::condition_variable changed_;
  mutable std::multiset<double> until_;  // the times until which threads wait
  mutable int64_t events_ = 0;
  double now_ = 1000;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_MANUAL_CLOCK_H_

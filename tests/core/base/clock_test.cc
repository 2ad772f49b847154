#include "core/base/clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "tests/testing/manual_clock.h"

namespace doppio {
namespace {

constexpr double kNever = 1e300;

TEST(TimeSource, IsTheMachinesTime) {
  const double before = MonotonicSeconds(), now = MachineTime()->Now(), after = MonotonicSeconds();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

TEST(TimeSource, WaitsUntilItIsWokenOrTheTimeHasCome) {
  for (const bool manual : {false, true}) {
    const ManualClock manual_clock;
    const TimeSource& clock = manual ? manual_clock : *MachineTime();
    std::mutex mutex;
    std::condition_variable wake;
    bool woken = false;
    std::unique_lock<std::mutex> lock(mutex);
    std::thread waker([&] {
      const std::lock_guard<std::mutex> own(mutex);
      woken = true;
      wake.notify_all();
    });
    while (!woken) clock.Wait(&lock, &wake, kNever);
    clock.Wait(&lock, &wake, clock.Now());
    waker.join();
    EXPECT_TRUE(lock.owns_lock());
  }
}

TEST(TimeSource, PollsUntilAnEventOrUntilTheTimeHasCome) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (const bool manual : {false, true}) {
    const ManualClock manual_clock;
    const TimeSource& clock = manual ? manual_clock : *MachineTime();
    pollfd wait = {ends[0], POLLIN, 0};
    EXPECT_EQ(clock.Poll(&wait, 1, clock.Now()), 0);
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_EQ(clock.Poll(&wait, 1, kNever), 1);
    EXPECT_EQ(wait.revents, POLLIN);
    char byte;
    ASSERT_EQ(read(ends[0], &byte, 1), 1);
  }
  close(ends[0]);
  close(ends[1]);
}

TEST(ManualClock, ShowsThatThreadsHaveSeenTheTime) {
  ManualClock clock;
  const double begun = clock.Now();
  int seconds = 0;
  std::thread counter([&] {
    std::mutex mutex;
    std::condition_variable wake;
    std::unique_lock<std::mutex> lock(mutex);
    while (seconds < 100) {
      while (clock.Now() < begun + seconds + 1) clock.Wait(&lock, &wake, begun + seconds + 1);
      ++seconds;
    }
  });
  EXPECT_TRUE(clock.Advance(0, 1));
  for (int i = 1; i < 100; ++i) {
    EXPECT_TRUE(clock.Advance(1, 1));
    EXPECT_EQ(seconds, i);
  }
  EXPECT_TRUE(clock.Advance(0, 1));
  clock.Advance(1);
  counter.join();
  EXPECT_EQ(clock.waiting(), 0);
}

}  // namespace
}  // namespace doppio

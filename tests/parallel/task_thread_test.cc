#include "parallel/reduce/task_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace doppio {
namespace {

TEST(TaskThread, RunsTasksInOrderBesideTheCaller) {
  TaskThread thread;
  std::vector<int> ran;
  std::atomic<bool> go{false};
  thread.Give([&] {
    while (!go) std::this_thread::yield();
    ran.push_back(0);
  });
  thread.Give([&] { ran.push_back(1); });
  go = true;
  thread.AwaitAllBut(1);
  thread.AwaitAllBut(0);
  EXPECT_EQ(ran, (std::vector<int>{0, 1}));
}

TEST(TaskThread, RethrowsAndRunsNothingMoreUntilItIsSettled) {
  TaskThread thread;
  std::atomic<int> ran{0};
  thread.Give([] { throw std::runtime_error("lost"); });
  EXPECT_THROW(thread.AwaitAllBut(0), std::runtime_error);
  thread.Give([&] { ++ran; });
  EXPECT_THROW(thread.AwaitAllBut(0), std::runtime_error);
  thread.Settle();
  EXPECT_EQ(ran, 0);
  thread.Give([&] { ++ran; });
  thread.AwaitAllBut(0);
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace doppio

#include "core/base/queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/base/threads.h"

namespace doppio {
namespace {

TEST(BoundedQueue, KeepsOrderAndItsBound) {
  BoundedQueue<int> queue(2);
  std::atomic<int> pushed{0};
  std::thread producer([&] {
    for (int i = 0; i < 100; ++i) {
      queue.Push(i);
      ++pushed;
    }
  });
  for (int i = 0; i < 100; ++i) {
    int value = -1;
    ASSERT_TRUE(queue.Pop(&value));
    EXPECT_EQ(value, i);
    EXPECT_LE(pushed, i + 4);
  }
  producer.join();
}

TEST(BoundedQueue, HandsOverTheItemsAfterItIsClosed) {
  BoundedQueue<int> queue(4);
  queue.Push(1);
  queue.Close();
  EXPECT_FALSE(queue.Push(2));
  int value = 0;
  EXPECT_TRUE(queue.Pop(&value));
  EXPECT_EQ(value, 1);
  EXPECT_FALSE(queue.Pop(&value));
}

TEST(BoundedQueue, CloseWakesAWaitingProducerAndConsumer) {
  BoundedQueue<int> full(1), empty(1);
  full.Push(0);
  std::thread producer([&] { EXPECT_FALSE(full.Push(1)); });
  std::thread consumer([&] {
    int value;
    EXPECT_FALSE(empty.Pop(&value));
  });
  full.Close();
  empty.Close();
  producer.join();
  consumer.join();
}

TEST(ParallelFor, CoversEveryIndexOnce) {
  for (int64_t n : {0, 1, 7, 1000, 100001}) {
    std::vector<int> count(static_cast<size_t>(n) + 1, 0);
    ParallelFor(n, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++count[static_cast<size_t>(i)];
    });
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(count[static_cast<size_t>(i)], 1) << n;
  }
}

}  // namespace
}  // namespace doppio

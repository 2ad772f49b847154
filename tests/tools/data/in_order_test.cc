// Tests work on several threads whose results arrive in order.
#include "tools/data/in_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

TEST(InOrder, TakesResultsInOrderThoughLaterOnesAreMadeFirst) {
  std::vector<int64_t> taken;
  InOrder(
      40, 4,
      [](int64_t i) {
        // Real time, in which other threads overtake this one.
        if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return i * i;
      },
      [&](int64_t i, int64_t square) {
        EXPECT_EQ(square, i * i);
        taken.push_back(i);
      });
  ASSERT_EQ(taken.size(), 40u);
  for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(taken[static_cast<size_t>(i)], i);
}

TEST(InOrder, DoesNotRunFarAhead) {
  constexpr int64_t kItems = 100, kAhead = 2 * 4;
  std::atomic<int64_t> made{0}, taken{0};
  InOrder(
      kItems, 2,
      [&](int64_t) {
        const int64_t number = ++made;
        EXPECT_LE(number, taken + 1 + kAhead);  // one result may be about to be taken
        return number;
      },
      [&](int64_t i, int64_t) {
        taken = i + 1;
        while (made < std::min(kItems, taken + kAhead)) std::this_thread::yield();
      });
}

TEST(InOrder, ThrowsWhatAThreadThrewWhenItsTurnHasCome) {
  std::vector<int64_t> taken;
  const auto make = [](int64_t i) -> int64_t {
    if (i == 5) throw std::runtime_error("five");
    return i;
  };
  const auto take = [&](int64_t i, int64_t) { taken.push_back(i); };
  EXPECT_EQ(MistakeIfAny<std::runtime_error>([&] { InOrder(1000, 3, make, take); }), "five");
  EXPECT_EQ(taken, (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST(InOrder, StopsWhereTheCallerThrows) {
  std::atomic<int64_t> made{0};
  EXPECT_THROW(InOrder(
                   100000, 2, [&](int64_t) { return ++made; },
                   [](int64_t i, int64_t) {
                     if (i == 3) throw std::runtime_error("enough");
                   }),
               std::runtime_error);
  EXPECT_LT(made.load(), 100);
}

TEST(InOrder, HasNothingToDoForNothing) {
  std::atomic<int> calls{0};
  InOrder(
      0, 2, [&](int64_t i) { return calls += static_cast<int>(i) + 1; },
      [&](int64_t, int64_t) { ++calls; });
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace doppio

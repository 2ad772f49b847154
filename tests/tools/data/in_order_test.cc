// Tests work on several threads whose results arrive in order.
#include "tools/data/in_order.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

namespace doppio {
namespace {

TEST(InOrder, TakesResultsInOrderThoughLaterOnesAreMadeFirst) {
  std::vector<int64_t> taken;
  InOrder(
      40, 4,
      [](int64_t i) {
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
  std::atomic<int64_t> made{0};
  int64_t most = 0;
  InOrder(
      100, 2, [&](int64_t) { return ++made; },
      [&](int64_t i, int64_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        most = std::max(most, made.load() - i);
      });
  EXPECT_LE(most, 2 * 4 + 2);
}

TEST(InOrder, ThrowsWhatAThreadThrewWhenItsTurnHasCome) {
  std::vector<int64_t> taken;
  std::string message;
  try {
    InOrder(
        1000, 3,
        [](int64_t i) -> int64_t {
          if (i == 5) throw std::runtime_error("five");
          return i;
        },
        [&](int64_t i, int64_t) { taken.push_back(i); });
  } catch (const std::runtime_error& e) {
    message = e.what();
  }
  EXPECT_EQ(message, "five");
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
  InOrder(
      0, 2, [](int64_t i) { return i; }, [](int64_t, int64_t) { FAIL(); });
}

}  // namespace
}  // namespace doppio

#include "parallel/elastic/rejoin_limit.h"

#include <gtest/gtest.h>

#include "tests/testing/manual_clock.h"

namespace doppio {
namespace {

TEST(RejoinLimit, IsThreeTimesTheLongestIterationWithinTheOtherLimits) {
  ManualClock clock;
  ElasticOptions options;
  options.busy_seconds = 10;
  options.watch.stall_seconds = 100;
  options.watch.clock = &clock;
  RejoinLimit limit(options);
  EXPECT_EQ(limit.Seconds(), 100);  // the length of an iteration is not known
  limit.BeginIteration();
  EXPECT_EQ(limit.Seconds(), 100);
  const auto iterate = [&](double seconds) {
    clock.Advance(seconds);
    limit.BeginIteration();
    return limit.Seconds();
  };
  EXPECT_EQ(iterate(1), 10);
  EXPECT_EQ(iterate(8), 24);
  EXPECT_EQ(iterate(2), 24);
  EXPECT_EQ(iterate(50), 100);
  limit.Reset();
  EXPECT_EQ(limit.Seconds(), 100);
  clock.Advance(60);
  limit.BeginIteration();
  EXPECT_EQ(iterate(4), 12);
}

}  // namespace
}  // namespace doppio

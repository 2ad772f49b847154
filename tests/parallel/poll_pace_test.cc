#include "parallel/mpi/poll_pace.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

constexpr int64_t kShortest = PollPace::kShortestNs, kLongest = PollPace::kLongestNs;

TEST(PollPace, TestsWithoutPausesOnlyForATime) {
  PollPace pace(true);
  pace.Begin(1000);
  EXPECT_EQ(pace.NextNs(1000), 0);
  EXPECT_EQ(pace.NextNs(1000 + PollPace::kEagerNs - 1), 0);
  // A yield may have lasted for a time slice of other threads.
  EXPECT_EQ(pace.NextNs(1000 + PollPace::kEagerNs), kShortest);
  pace.Begin(5'000'000);
  EXPECT_EQ(pace.NextNs(5'000'000), 0);
}

TEST(PollPace, PausesAtOnceIfOtherWorkNeedsTheCore) {
  PollPace pace(false);
  pace.Begin(0);
  EXPECT_EQ(pace.NextNs(0), kShortest);
}

TEST(PollPace, LengthensPausesWhileOtherThreadsKeepTheCore) {
  PollPace pace(false);
  pace.Begin(0);
  pace.Paused(4'000'000);
  EXPECT_EQ(pace.NextNs(0), 2 * kShortest);
  pace.Paused(4'000'000);
  pace.Begin(10'000'000);  // also in later exchanges
  EXPECT_EQ(pace.NextNs(10'000'000), 4 * kShortest);
  for (int i = 0; i < 20; ++i) pace.Paused(4'000'000);
  EXPECT_EQ(pace.NextNs(10'000'000), kLongest);
}

TEST(PollPace, TestsOnlyWithPausesWhileOtherThreadsWantTheCore) {
  PollPace pace(true);
  for (int i = 0; i < 3; ++i) pace.Paused(4'000'000);
  pace.Begin(0);
  EXPECT_EQ(pace.NextNs(0), 8 * kShortest);
}

TEST(PollPace, KeepsPausesLongIfSomeEndLate) {
  PollPace pace(false);
  for (int i = 0; i < 1000; ++i) pace.Paused(i % 20 == 0 ? 4'000'000 : pace.NextNs(0) + 60'000);
  EXPECT_GT(pace.NextNs(0), kLongest / 3);
}

TEST(PollPace, ShortensPausesWhenCoresAreIdleAgain) {
  PollPace pace(false);
  for (int i = 0; i < 20; ++i) pace.Paused(4'000'000);
  pace.Paused(kLongest + 60'000);
  EXPECT_EQ(pace.NextNs(0), kLongest - kLongest / PollPace::kSlowness);
  for (int i = 0; i < 500; ++i) pace.Paused(pace.NextNs(0) + 60'000);
  EXPECT_EQ(pace.NextNs(0), kShortest);
}

}  // namespace
}  // namespace doppio

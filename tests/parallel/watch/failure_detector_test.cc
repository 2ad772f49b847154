#include "parallel/watch/failure_detector.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/testing/manual_clock.h"

namespace doppio {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A detector with a silence limit of 20 s and a stall limit of 300 s, of three ranks.
class FailureDetectorTest : public testing::Test {
 protected:
  FailureDetectorTest() {
    for (const char* const name : {"rank 0 on a", "rank 1 on b", "rank 2 on c"})
      detector_.Add(name);
  }

  void HearFrom(const std::vector<int>& members) {
    for (const int member : members) detector_.Heard(member);
  }
  std::string Message() const {
    const auto failure = detector_.FirstFailure();
    return failure ? failure->message : "";
  }

  ManualClock clock_;
  FailureDetector detector_{&clock_, {Limit::kSilence, 20}, {Limit::kStall, 300, 2}};
};

TEST_F(FailureDetectorTest, FindsNoFailureBeforeALimit) {
  clock_.Advance(19.5);
  EXPECT_EQ(detector_.HealthOf(1), Health::kAlive);
  EXPECT_EQ(Message(), "");
}

TEST_F(FailureDetectorTest, NamesARankThatIsSilentPastTheLimit) {
  detector_.Heard(1, 5, 3);
  clock_.Advance(10);
  HearFrom({0, 2});
  clock_.Advance(10);
  EXPECT_EQ(detector_.HealthOf(1), Health::kSilent);
  EXPECT_EQ(detector_.HealthOf(2), Health::kAlive);
  EXPECT_EQ(detector_.FirstFailure()->health, Health::kSilent);
  EXPECT_EQ(Message(),
            "rank 1 on b has not answered for 20 s (limit --silence_timeout): it is stopped, its "
            "machine is lost, or the network between them is cut; last seen at bucket 3");
  HearFrom({1});
  EXPECT_EQ(Message(), "");
}

TEST_F(FailureDetectorTest, NamesARankThatIsGoneAtOnce) {
  detector_.Declare(2, Health::kGone, "its connection has closed");
  EXPECT_EQ(detector_.HealthOf(2), Health::kGone);
  EXPECT_EQ(Message(), "rank 2 on c is gone: its connection has closed");
  clock_.Advance(30);
  HearFrom({0, 1});
  EXPECT_EQ(detector_.HealthOf(2), Health::kGone);  // and not only silent
}

TEST_F(FailureDetectorTest, ReportsTheLowestOfTwoRanksThatFailAtOnce) {
  clock_.Advance(20);
  HearFrom({0});
  detector_.Declare(2, Health::kGone, "its connection has closed");
  EXPECT_EQ(detector_.HealthOf(1), Health::kSilent);
  EXPECT_EQ(detector_.HealthOf(2), Health::kGone);
  EXPECT_EQ(Message().compare(0, 28, "rank 1 on b has not answered"), 0) << Message();
  HearFrom({1});
  EXPECT_EQ(Message(), "rank 2 on c is gone: its connection has closed");
}

TEST_F(FailureDetectorTest, ForgetsARankThatHasLeft) {
  detector_.Leave(2);
  clock_.Advance(1000);
  HearFrom({0, 1});
  EXPECT_EQ(detector_.HealthOf(2), Health::kAlive);
  clock_.Advance(20);
  HearFrom({0});
  EXPECT_EQ(Message().compare(0, 11, "rank 1 on b"), 0) << Message();
}

// Rank 1 has the least progress when all stop. The margin of 2 s is not part of the message.
TEST_F(FailureDetectorTest, NamesTheRankThatIsBehindWhenAllStall) {
  detector_.Heard(0, 7, 4);
  detector_.Heard(1, 6, 4);
  detector_.Heard(2, 7, 4);
  clock_.Advance(301);
  HearFrom({0, 1, 2});
  EXPECT_EQ(Message(), "");
  clock_.Advance(1);
  EXPECT_EQ(Message(),
            "rank 1 on b has made no progress for 300 s (limit --stall_timeout): no rank has, and "
            "it is behind the others; last seen at bucket 4");
  EXPECT_EQ(detector_.FirstFailure()->health, Health::kStalled);
}

TEST_F(FailureDetectorTest, WaitsWhileOneRankMakesProgress) {
  for (int64_t i = 1; i <= 4; ++i) {
    clock_.Advance(250);
    HearFrom({0, 1});
    detector_.Heard(2, i, -1);
    EXPECT_EQ(Message(), "");
  }
  EXPECT_EQ(detector_.HealthOf(0), Health::kStalled);
  EXPECT_EQ(detector_.HealthOf(2), Health::kAlive);
}

// A rank that answers again still hangs, until it makes progress.
TEST_F(FailureDetectorTest, KeepsADeclaredStallUntilProgress) {
  detector_.Declare(1, Health::kStalled);
  detector_.Heard(1);
  EXPECT_EQ(detector_.HealthOf(1), Health::kStalled);
  detector_.Heard(1, 1, -1);
  EXPECT_EQ(detector_.HealthOf(1), Health::kAlive);
  detector_.Declare(1, Health::kGone, "its connection has closed");
  detector_.Heard(1);
  EXPECT_EQ(detector_.HealthOf(1), Health::kAlive);
}

TEST_F(FailureDetectorTest, DoesNotCountTimeInWhichItsProcessDidNotRun) {
  clock_.Advance(15);
  const double due = clock_.Now() + 0.5;
  clock_.Advance(1000.5);
  detector_.Woke(due);
  EXPECT_EQ(Message(), "");
  clock_.Advance(4);  // 15 + 0.5 + 4 s of silence
  EXPECT_EQ(Message(), "");
  clock_.Advance(0.5);
  EXPECT_EQ(detector_.HealthOf(0), Health::kSilent);
}

TEST_F(FailureDetectorTest, CountsASmallDelayOfItsThreadAsSilence) {
  for (int i = 0; i < 80; ++i) {
    const double due = clock_.Now();
    clock_.Advance(0.25);
    detector_.Woke(due);
  }
  EXPECT_EQ(detector_.HealthOf(0), Health::kSilent);
}

TEST(FailureDetector, HasNoLimitIfItIsInfinite) {
  ManualClock clock;
  FailureDetector detector(&clock, {Limit::kSilence, kNever}, {Limit::kStall, kNever});
  detector.Add("rank 0");
  clock.Advance(1e9);
  EXPECT_FALSE(detector.FirstFailure());
}

}  // namespace
}  // namespace doppio

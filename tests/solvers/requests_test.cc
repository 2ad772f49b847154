// Tests what ranks agree on, given the votes of the other ranks.
#include "solvers/trainer/requests.h"

#include <gtest/gtest.h>

#include "tests/solvers/fake_world.h"

namespace doppio {
namespace {

// Returns the letters of what the ranks do: Snapshot, End, world Changes, this rank Leaves.
std::string AgreedOn(TrainerOptions options, Request own, bool admits = true) {
  options.poll = [own] { return own; };
  const Agreement agreed = AgreeOnRequests(options, admits);
  return std::string(agreed.snapshot ? "S" : "") + (agreed.stop ? "E" : "") +
         (agreed.world_changes ? "C" : "") + (agreed.leaves ? "L" : "");
}

TrainerOptions With(const World& world) {
  TrainerOptions options;
  options.world = &world;
  return options;
}

TrainerOptions Elastic(const World& world, int least = 1, bool newcomers = false) {
  TrainerOptions options = With(world);
  options.elastic = ElasticRule{least, [newcomers] { return newcomers; }, nullptr};
  return options;
}

TEST(Requests, ConcernAllRanksIfOneHasThem) {
  EXPECT_EQ(AgreedOn({}, Request::kSnapshot), "S");
  EXPECT_EQ(AgreedOn({}, Request::kSnapshotStop), "SE");
  const FakeWorld quiet(3, {0, 0}), stops(3, {0, 1}), saves(3, {2, 0});
  EXPECT_EQ(AgreedOn(With(quiet), Request::kNone), "");
  EXPECT_EQ(AgreedOn(With(quiet), Request::kStop), "E");
  EXPECT_EQ(AgreedOn(With(stops), Request::kSnapshot), "SE");
  EXPECT_EQ(AgreedOn(With(saves), Request::kNone), "S");
}

TEST(Requests, ToStopConcernOneRankIfEnoughRemain) {
  const FakeWorld quiet(3, {0, 0, 0}), stops(3, {0, 1, 0}), saves(3, {2, 1, 0});
  EXPECT_EQ(AgreedOn(Elastic(quiet), Request::kSnapshot), "S");
  EXPECT_EQ(AgreedOn(Elastic(quiet), Request::kStop), "ECL");
  EXPECT_EQ(AgreedOn(Elastic(saves), Request::kNone), "SEC");
  EXPECT_EQ(AgreedOn(Elastic(stops, 2), Request::kNone), "EC");
  EXPECT_EQ(AgreedOn(Elastic(stops, 3), Request::kNone), "E");
}

TEST(Requests, OfNewcomersCountBetweenTests) {
  const FakeWorld quiet(3, {0, 0, 0});
  EXPECT_EQ(AgreedOn(Elastic(quiet, 1, true), Request::kSnapshot), "SEC");
  EXPECT_EQ(AgreedOn(Elastic(quiet, 1, true), Request::kNone, false), "");
}

}  // namespace
}  // namespace doppio

// Tests limits of an elastic training that take seconds of real time.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "parallel/sockets/rank_sockets.h"
#include "tests/parallel/elastic_case.h"

namespace doppio {
namespace {

TEST(ElasticMember, EndsAllIfTooFewRanksAreLeft) {
  const int port = FreePort();
  const auto thrown = InThreads(3, [&](int rank) {
    ElasticOptions options = PatientOptions(port, rank, 3);
    options.least = 3;
    options.watch.stall_seconds = 5;  // real time, in which the two ranks that are left must meet
    ElasticMember member(options);
    ProcessWorld* const world = member.Meet(-1);
    RanksInSum(world);
    if (rank == 1) return;
    AwaitLoss(&member, world);
    try {
      member.Meet(1);
    } catch (const UnreachableRank&) {
      EXPECT_EQ(member.hosted(), rank == 0);
      throw;
    }
  });
  EXPECT_EQ(thrown[0].compare(0, 29, "only 2 ranks can train after "), 0) << thrown[0];
  EXPECT_NE(thrown[0].find(" s, and --elastic needs at least 3; left: rank 1 on here is gone"),
            std::string::npos)
      << thrown[0];
  EXPECT_EQ(thrown[2], thrown[0]);
}

// A member that hangs is left behind. When it comes at last, it is a newcomer.
TEST(ElasticMember, LeavesAMemberThatHangs) {
  for (int hangs = 0; hangs < 3; ++hangs) {
    SCOPED_TRACE(hangs);
    const int port = FreePort();
    std::atomic<int> gone_on{0};
    const auto thrown = InThreads(3, [&](int rank) {
      ElasticOptions options = PatientOptions(port, rank, 3);
      // Real time, in which the others must meet: longer than the second between heartbeats of a
      // host.
      options.busy_seconds = 3;
      ElasticMember member(options);
      ProcessWorld* world = member.Meet(-1);
      member.BeginIteration();
      RanksInSum(world);
      member.BeginIteration();
      if (rank == hangs) {
        while (gone_on < 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_THROW(RanksInSum(world), PeerError);
        world = member.Meet(3);
        EXPECT_EQ(world->rank(), 2);
        EXPECT_EQ(RanksInSum(world), 3);
        EXPECT_EQ(member.roster().places[2].iteration, -1);
        return;
      }
      world->Break("a watch has seen it");
      world = member.Meet(4);
      EXPECT_EQ(RanksInSum(world), 2);
      const std::string left =
          "rank " + std::to_string(hangs) + " on here has made no progress for ";
      EXPECT_EQ(member.roster().left.compare(0, left.size(), left), 0) << member.roster().left;
      ++gone_on;
      float newcomers = 0;
      while (newcomers == 0) {
        newcomers = member.NewcomersFit() ? 1 : 0;
        world->control().AllReduce(&newcomers, 1, DType::kFloat32);
      }
      world = member.Meet(5);
      EXPECT_EQ(RanksInSum(world), 3);
    });
    EXPECT_EQ(thrown, std::vector<std::string>(3));
  }
}

}  // namespace
}  // namespace doppio

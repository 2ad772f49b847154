#include "parallel/elastic/elastic_member.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "parallel/watch/rank_sockets.h"
#include "tests/parallel/tcp_case.h"

namespace doppio {
namespace {

ElasticOptions Options(int port, int rank, int size) {
  ElasticOptions options;
  options.rendezvous = MeetingOf(port, rank, size);
  options.most = 8;
  options.silent_seconds = 1;
  options.identity = IdentityOf("here", "doppio 1", "TCP");
  options.watch.stall_seconds = 20;
  return options;
}

// Returns the number of ranks by which a sum is made.
int Sum(ProcessWorld* world) {
  float one = 1;
  world->control().AllReduce(&one, 1, DType::kFloat32);
  return static_cast<int>(one);
}

// Sums until the world is lost.
void AwaitLoss(ElasticMember* member, ProcessWorld* world) {
  try {
    for (;;) {
      member->Beat();
      Sum(world);
    }
  } catch (const PeerError&) {
    return;
  }
}

// Counts the end of its scope.
struct Counted {
  explicit Counted(std::atomic<int>* count) : count(count) {}
  ~Counted() {
    if (count != nullptr) ++*count;
  }
  std::atomic<int>* const count;
};

TEST(ElasticMember, MeetsInTheOrderOfTheLaunchersRanks) {
  const int port = FreePort();
  const auto thrown = InThreads(3, [&](int rank) {
    ElasticMember member(Options(port, rank, 3));
    ProcessWorld* const world = member.Meet(-1);
    EXPECT_EQ(world->rank(), rank);
    EXPECT_EQ(Sum(world), 3);
    EXPECT_EQ(member.epoch(), 1);
    EXPECT_EQ(member.newest_rank(), -1);
    EXPECT_EQ(member.roster().left + member.roster().came, "");
    world->control().Barrier();
  });
  EXPECT_EQ(thrown, std::vector<std::string>(3));
}

// Any rank may be lost, also the host of the first meeting.
TEST(ElasticMember, GoesOnWithoutALostRank) {
  for (int lost = 0; lost < 3; ++lost) {
    SCOPED_TRACE(lost);
    const int port = FreePort();
    const auto thrown = InThreads(3, [&](int rank) {
      ElasticMember member(Options(port, rank, 3));
      ProcessWorld* world = member.Meet(-1);
      Sum(world);
      if (rank == lost) return;
      AwaitLoss(&member, world);
      const auto begun = std::chrono::steady_clock::now();
      world = member.Meet(10 + rank);
      EXPECT_LT(SecondsSince(begun), 5);
      EXPECT_EQ(Sum(world), 2);
      EXPECT_EQ(world->rank(), rank - (rank > lost ? 1 : 0));
      EXPECT_EQ(member.newest_rank(), 1);
      EXPECT_TRUE(member.some_are_behind());
      EXPECT_EQ(member.roster().left, "rank " + std::to_string(lost) + " on here has ended");
      world->control().Barrier();
    });
    EXPECT_EQ(thrown, std::vector<std::string>(3));
  }
}

// Rank 0 is lost, and a newcomer then finds the new leader at the same port.
TEST(ElasticMember, AdmitsNewcomers) {
  const int port = FreePort();
  std::atomic<bool> comes{false};
  const auto thrown = InThreads(4, [&](int rank) {
    ElasticOptions options = Options(port, rank == 3 ? 0 : rank, 3);
    options.joins = rank == 3;
    while (rank == 3 && !comes) std::this_thread::yield();
    ElasticMember member(options);
    ProcessWorld* world = member.Meet(-1);
    if (rank == 3) {
      EXPECT_EQ(world->rank(), 2);
      EXPECT_EQ(Sum(world), 3);
      EXPECT_EQ(member.newest_rank(), 0);
      return;
    }
    Sum(world);
    if (rank == 0) return;
    AwaitLoss(&member, world);
    world = member.Meet(5);
    comes = true;
    float newcomers = 0;
    while (newcomers == 0) {
      newcomers = member.NewcomersFit() ? 1 : 0;
      world->control().AllReduce(&newcomers, 1, DType::kFloat32);
    }
    world = member.Meet(7);
    EXPECT_EQ(world->rank(), rank - 1);
    EXPECT_EQ(Sum(world), 3);
    EXPECT_EQ(member.roster().left, "");
    EXPECT_EQ(member.roster().came, "rank 2 on here");
  });
  EXPECT_EQ(thrown, std::vector<std::string>(4));
}

TEST(ElasticMember, EndsAllIfTooFewRanksAreLeft) {
  const int port = FreePort();
  const auto thrown = InThreads(3, [&](int rank) {
    ElasticOptions options = Options(port, rank, 3);
    options.least = 3;
    options.watch.stall_seconds = 3;
    ElasticMember member(options);
    ProcessWorld* const world = member.Meet(-1);
    Sum(world);
    if (rank == 1) return;
    AwaitLoss(&member, world);
    try {
      member.Meet(1);
    } catch (const UnreachableRank&) {
      EXPECT_EQ(member.hosted(), rank == 0);
      throw;
    }
  });
  EXPECT_EQ(thrown[0],
            "only 2 ranks can train after 3 s, and --elastic wants at least 3; left: rank 1 on "
            "here has ended");
  EXPECT_EQ(thrown[2], thrown[0]);
}

// Only 2 of the 3 ranks can share the batch. The third waits until another one has ended.
TEST(ElasticMember, KeepsRanksInReserveThatCannotShareTheBatch) {
  const int port = FreePort();
  const auto thrown = InThreads(3, [&](int rank) {
    ElasticOptions options = Options(port, rank, 3);
    options.usable = [](int n) { return n > 2 ? 2 : n; };
    ElasticMember member(options);
    ProcessWorld* world = member.Meet(-1);
    EXPECT_EQ(Sum(world), 2);
    EXPECT_FALSE(member.NewcomersFit());
    if (rank == 1) return;
    if (rank == 2) {
      EXPECT_EQ(member.epoch(), 2);
      EXPECT_EQ(world->rank(), 1);
      return;
    }
    AwaitLoss(&member, world);
    world = member.Meet(1);
    EXPECT_EQ(Sum(world), 2);
  });
  EXPECT_EQ(thrown, std::vector<std::string>(3));
}

// A member that hangs is left behind. When it comes at last, it is a newcomer.
TEST(ElasticMember, LeavesAMemberThatHangs) {
  for (int hangs = 0; hangs < 3; ++hangs) {
    SCOPED_TRACE(hangs);
    const int port = FreePort();
    std::atomic<int> gone_on{0};
    const auto thrown = InThreads(3, [&](int rank) {
      ElasticOptions options = Options(port, rank, 3);
      options.busy_seconds = 1;
      ElasticMember member(options);
      ProcessWorld* world = member.Meet(-1);
      member.Beat();
      Sum(world);
      member.Beat();
      if (rank == hangs) {
        while (gone_on < 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_THROW(Sum(world), PeerError);
        world = member.Meet(3);
        EXPECT_EQ(world->rank(), 2);
        EXPECT_EQ(Sum(world), 3);
        EXPECT_EQ(member.roster().places[2].iteration, -1);
        return;
      }
      member.Break("a watch has seen it");
      world = member.Meet(4);
      EXPECT_EQ(Sum(world), 2);
      EXPECT_EQ(member.roster().left, "rank " + std::to_string(hangs) + " on here hangs");
      ++gone_on;
      float newcomers = 0;
      while (newcomers == 0) {
        newcomers = member.NewcomersFit() ? 1 : 0;
        world->control().AllReduce(&newcomers, 1, DType::kFloat32);
      }
      world = member.Meet(5);
      EXPECT_EQ(Sum(world), 3);
    });
    EXPECT_EQ(thrown, std::vector<std::string>(3));
  }
}

TEST(ElasticMember, RefusesOtherProgramsAndTrainings) {
  const int port = FreePort();
  std::atomic<int> refused{0};
  std::atomic<bool> begun{false};
  const auto thrown = InThreads(3, [&](int rank) {
    ElasticOptions options = Options(port, rank, 1);
    if (rank == 1) options.identity = IdentityOf("there", "doppio 2", "TCP");
    if (rank == 2) options.training[0] = 1;
    ElasticMember member(options);
    while (rank > 0 && !begun) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Counted counted(rank > 0 ? &refused : nullptr);
    ProcessWorld* const world = member.Meet(-1);
    begun = true;
    while (refused < 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(Sum(world), 1);
  });
  EXPECT_NE(thrown[1].find("there cannot join the run: the ranks run different builds"),
            std::string::npos)
      << thrown[1];
  EXPECT_NE(thrown[2].find("the run trains with another command line"), std::string::npos)
      << thrown[2];
}

TEST(ElasticMember, NamesTheRunThatItDoesNotFind) {
  ElasticOptions options = Options(FreePort(), 1, 2);
  options.rendezvous.seconds = 0.3;
  options.hosts = {"127.0.0.2"};
  try {
    ElasticMember(options).Meet(-1);
    FAIL();
  } catch (const PeerError& e) {
    EXPECT_NE(e.message().find("rank 1 on here finds no elastic training at port "),
              std::string::npos);
    EXPECT_NE(e.message().find(" of 127.0.0.1, 127.0.0.2 within 0 s: no answer"), std::string::npos)
        << e.message();
  }
}

}  // namespace
}  // namespace doppio

#include "parallel/elastic/elastic_member.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "tests/parallel/elastic_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

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
    ElasticMember member(PatientOptions(port, rank, 3));
    ProcessWorld* const world = member.Meet(-1);
    EXPECT_EQ(world->rank(), rank);
    EXPECT_EQ(RanksInSum(world), 3);
    EXPECT_EQ(member.roster().epoch, 1);
    EXPECT_EQ(member.roster().newest_rank(), -1);
    EXPECT_EQ(member.roster().left + member.roster().came, "");
    world->control().Barrier();
  });
  EXPECT_EQ(thrown, std::vector<std::string>(3));
}

// Any rank may be lost, also the host of the first meeting. The others know at once that it has
// ended.
TEST(ElasticMember, GoesOnWithoutALostRank) {
  for (int lost = 0; lost < 3; ++lost) {
    SCOPED_TRACE(lost);
    const int port = FreePort();
    const auto thrown = InThreads(3, [&](int rank) {
      ElasticMember member(PatientOptions(port, rank, 3));
      ProcessWorld* world = member.Meet(-1);
      RanksInSum(world);
      if (rank == lost) return;
      AwaitLoss(&member, world);
      world = member.Meet(10 + rank);
      EXPECT_EQ(RanksInSum(world), 2);
      EXPECT_EQ(world->rank(), rank - (rank > lost ? 1 : 0));
      EXPECT_EQ(member.roster().newest_rank(), 1);
      EXPECT_TRUE(member.roster().some_are_behind());
      EXPECT_EQ(member.roster().left, "rank " + std::to_string(lost) + " on here is gone");
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
    ElasticOptions options = PatientOptions(port, rank == 3 ? 0 : rank, 3);
    options.joins = rank == 3;
    while (rank == 3 && !comes) std::this_thread::yield();
    ElasticMember member(options);
    ProcessWorld* world = member.Meet(-1);
    if (rank == 3) {
      EXPECT_EQ(world->rank(), 2);
      EXPECT_EQ(RanksInSum(world), 3);
      EXPECT_EQ(member.roster().newest_rank(), 0);
      return;
    }
    RanksInSum(world);
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
    EXPECT_EQ(RanksInSum(world), 3);
    EXPECT_EQ(member.roster().left, "");
    EXPECT_EQ(member.roster().came, "rank 2 on here");
  });
  EXPECT_EQ(thrown, std::vector<std::string>(4));
}

// Only 2 of the 3 ranks can share the batch. The third waits until another one has ended.
TEST(ElasticMember, KeepsRanksInReserveThatCannotShareTheBatch) {
  const int port = FreePort();
  const auto thrown = InThreads(3, [&](int rank) {
    ElasticOptions options = PatientOptions(port, rank, 3);
    options.usable = [](int n) { return n > 2 ? 2 : n; };
    ElasticMember member(options);
    ProcessWorld* world = member.Meet(-1);
    EXPECT_EQ(RanksInSum(world), 2);
    EXPECT_FALSE(member.NewcomersFit());
    if (rank == 1) return;
    if (rank == 2) {
      EXPECT_EQ(member.roster().epoch, 2);
      EXPECT_EQ(world->rank(), 1);
      return;
    }
    AwaitLoss(&member, world);
    world = member.Meet(1);
    EXPECT_EQ(RanksInSum(world), 2);
  });
  EXPECT_EQ(thrown, std::vector<std::string>(3));
}

TEST(ElasticMember, RefusesOtherProgramsAndTrainings) {
  const int port = FreePort();
  std::atomic<int> refused{0};
  std::atomic<bool> begun{false};
  const auto thrown = InThreads(3, [&](int rank) {
    ElasticOptions options = PatientOptions(port, rank, 1);
    if (rank == 1) options.identity = IdentityOf("there", "doppio 2", "TCP");
    if (rank == 2) options.training[0] = 1;
    ElasticMember member(options);
    while (rank > 0 && !begun) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Counted counted(rank > 0 ? &refused : nullptr);
    ProcessWorld* const world = member.Meet(-1);
    begun = true;
    while (refused < 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(RanksInSum(world), 1);
  });
  EXPECT_NE(thrown[1].find("there cannot join the run: the ranks run different builds"),
            std::string::npos)
      << thrown[1];
  EXPECT_NE(thrown[2].find("the run trains with another command line"), std::string::npos)
      << thrown[2];
}

TEST(ElasticMember, EndsAtOnceWithAnotherSecret) {
  const int port = FreePort();
  std::atomic<bool> ended{false};
  const auto thrown = InThreads(2, [&](int rank) {
    ElasticOptions options = PatientOptions(port, rank, 2);
    options.interrupted = [&] { return ended.load(); };
    if (rank == 1) options.rendezvous.secret = "another";
    try {
      ElasticMember(options).Meet(-1);
    } catch (const UsageError&) {
      ended = true;
      throw;
    }
  });
  EXPECT_EQ(thrown[1], "rank 1 on here has another secret than the elastic training at port " +
                           std::to_string(port) +
                           " of 127.0.0.1: the ranks belong to different jobs, or "
                           "DOPPIO_JOB_SECRET differs between them");
}

TEST(ElasticMember, NamesTheRunThatItDoesNotFind) {
  ElasticOptions options = PatientOptions(FreePort(), 1, 2);
  options.rendezvous.seconds = 0.3;
  options.hosts = {"127.0.0.2"};
  const std::string text = Mistake<PeerError>([&] { ElasticMember(options).Meet(-1); });
  EXPECT_NE(text.find("rank 1 on here finds no elastic training at port "), std::string::npos)
      << text;
  EXPECT_NE(text.find(" of 127.0.0.1, 127.0.0.2 within 0 s: no answer"), std::string::npos) << text;
}

}  // namespace
}  // namespace doppio

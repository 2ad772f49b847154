#include "parallel/tcp/tcp_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "parallel/reduce/shares.h"
#include "tests/parallel/communicator_case.h"
#include "tests/parallel/tcp_case.h"

namespace doppio {
namespace {

std::unique_ptr<Team> Join(const RendezvousOptions& options) {
  const Roster roster = MeetRanks(options, IdentityOf("here", "doppio", "TCP"));
  std::vector<int> names(options.size);
  std::iota(names.begin(), names.end(), 0);
  return MakeTcpTeam(options.rank, roster.listeners, names, roster.listening);
}

// Runs body(team) on each of `size` ranks, and expects that none throws.
void WithTeams(int size, const std::function<void(Team*)>& body,
               const std::string& address = "127.0.0.1") {
  const int port = FreePort();
  const std::vector<std::string> thrown = InThreads(size, [&](int rank) {
    RendezvousOptions options = RendezvousOf(port, rank, size);
    options.address = address;
    body(Join(options).get());
  });
  EXPECT_EQ(thrown, std::vector<std::string>(size));
}

TEST(TcpTeam, Communicates) {
  for (int size : {2, 3, 4, 7}) {
    SCOPED_TRACE(size);
    WithTeams(size, [](Team* team) { ExpectCommunicates(team); });
  }
}

TEST(TcpTeam, MeetsByIpV6) {
  WithTeams(
      3, [](Team* team) { ExpectCommunicates(team); }, "::1");
}

// Larger than a piece of the ring and than the buffers of a connection.
TEST(TcpTeam, SumsAndSpreadsManyPieces) {
  WithTeams(3, [](Team* team) {
    constexpr int64_t kCount = 2'000'003;
    ExpectSums<float>(team, nullptr, DType::kFloat32, kCount);
    ExpectSums<BFloat16>(team, nullptr, DType::kBFloat16, kCount);
    std::vector<float> data(kCount, static_cast<float>(team->rank()));
    team->Broadcast(data.data(), kCount * static_cast<int64_t>(sizeof(float)), 2);
    EXPECT_EQ(data, std::vector<float>(kCount, 2));
  });
}

// The terms round, so another order of additions would give other bits.
TEST(TcpTeam, GivesTheSameBitsOnAllRanksAndInEachRun) {
  std::vector<std::vector<float>> sums;
  for (int run = 0; run < 2; ++run) {
    std::vector<std::vector<float>> of_ranks(4);
    WithTeams(4, [&](Team* team) {
      std::vector<float>& sum = of_ranks[team->rank()];
      for (int i = 0; i < 50'000; ++i)
        sum.push_back(std::sin(static_cast<float>(i + 7 * team->rank())));
      team->AllReduce(sum.data(), 50'000, DType::kFloat32);
    });
    sums.insert(sums.end(), of_ranks.begin(), of_ranks.end());
  }
  for (const auto& sum : sums) EXPECT_EQ(sum, sums[0]);
}

TEST(TcpTeam, GivesEvenSharesTheBitsOfTheWholeSum) {
  for (const int64_t count : {1000, 50'000, 1'500'001}) {
    WithTeams(3, [&](Team* team) {
      std::vector<float> whole(count);
      for (int64_t i = 0; i < count; ++i)
        whole[i] = std::sin(static_cast<float>(i + 7 * team->rank()));
      std::vector<float> shared = whole;
      std::vector<int64_t> cuts;
      for (int r = 0; r <= 3; ++r) cuts.push_back(EvenCut(count, 3, r));
      team->AllReduce(whole.data(), count, DType::kFloat32);
      team->ReduceScatter(shared.data(), cuts, DType::kFloat32);
      team->AllGather(shared.data(), cuts, DType::kFloat32);
      EXPECT_TRUE(whole == shared) << count;
    });
  }
}

TEST(TcpTeam, NamesARankThatIsGone) {
  const int port = FreePort();
  const std::vector<std::string> thrown = InThreads(2, [&](int rank) {
    const std::unique_ptr<Team> team = Join(RendezvousOf(port, rank, 2));
    if (rank == 0) team->Barrier();
  });
  EXPECT_EQ(thrown[0].compare(0, 32, "the connection to rank 1 on here"), 0) << thrown[0];
}

TEST(TcpTeam, EndsItsWaitAfterAnAbort) {
  const int port = FreePort();
  std::unique_ptr<Team> teams[2];
  InThreads(2, [&](int rank) { teams[rank] = Join(RendezvousOf(port, rank, 2)); });
  const std::vector<std::string> thrown = InThreads(2, [&](int rank) {
    if (rank == 0) teams[0]->Barrier();
    if (rank == 1) teams[0]->Abort("the reason");
  });
  EXPECT_EQ(thrown, (std::vector<std::string>{"the reason", ""}));
}

}  // namespace
}  // namespace doppio

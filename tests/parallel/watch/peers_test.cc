#include "parallel/watch/peers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "parallel/sockets/rank_sockets.h"
#include "parallel/world/threads.h"
#include "tests/testing/manual_clock.h"

namespace doppio {
namespace {

// The peers of rank 0 and of rank 1, in one process.
class PeersTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto ends = MakeThreadTeam(2);
    const auto connect = [&](int rank) {
      peers_[rank] = std::make_unique<Peers>(
          ConnectRanks(ends[static_cast<size_t>(rank)].get(), "node" + std::to_string(rank)), 20,
          &clock_);
    };
    std::thread second([&] { connect(1); });
    connect(0);
    second.join();
    ASSERT_EQ(peers_[0]->all().size(), 1u);
    ASSERT_EQ(peers_[1]->all().size(), 1u);
  }

  // Blocks until rank `rank` has got a message.
  WatchMessage Next(int rank) {
    Peer& peer = peers_[rank]->all()[0];
    for (;;) {
      if (const auto message = peer.messages.Next()) return *message;
      pollfd wait = {peer.socket.get(), POLLIN, 0};
      poll(&wait, 1, -1);
      char bytes[64];
      const ssize_t count = recv(wait.fd, bytes, sizeof bytes, 0);
      if (count <= 0) return {WatchMessage::kBye, "the connection has closed"};
      peer.messages.Add(bytes, static_cast<size_t>(count));
    }
  }

  ManualClock clock_;
  std::unique_ptr<Peers> peers_[2];
};

TEST_F(PeersTest, NamesTheOtherRanks) {
  EXPECT_EQ(peers_[0]->all()[0].name, "rank 1 on node1");
  EXPECT_EQ(peers_[1]->all()[0].name, "rank 0 on node0");
}

TEST_F(PeersTest, SendsTheProgressOfThisRank) {
  RankProgress own;
  own.progress = 7;
  own.bucket = 2;
  clock_.Advance(3);
  const double now = clock_.Now();
  EXPECT_EQ(peers_[1]->beat_at(), now - 3);
  peers_[1]->SendHeartbeat(1, own);
  EXPECT_EQ(peers_[1]->beat_at(), now);
  const WatchMessage message = Next(0);
  ASSERT_EQ(message.kind, WatchMessage::kHeartbeat);
  Heartbeat heartbeat;
  ASSERT_EQ(message.text.size(), sizeof heartbeat);
  std::memcpy(&heartbeat, message.text.data(), sizeof heartbeat);
  EXPECT_EQ(heartbeat.rank, 1);
  EXPECT_EQ(heartbeat.progress, 7);
  EXPECT_EQ(heartbeat.bucket, 2);
}

TEST_F(PeersTest, SendsNothingToAPeerThatHasLeft) {
  peers_[0]->all()[0].left = true;
  peers_[0]->Send({WatchMessage::kLost, "\1rank 2 is gone"});
  peers_[0]->all()[0].left = false;
  peers_[0]->Send({WatchMessage::kBye, ""});
  EXPECT_EQ(Next(1).kind, WatchMessage::kBye);
}

TEST_F(PeersTest, AwaitsTheEndOfRank0) {
  const RankProgress own;
  peers_[0]->SendHeartbeat(0, own);
  peers_[0].reset();
  peers_[1]->AwaitEndOfFirst(3);  // returns, although the time stands still
}

}  // namespace
}  // namespace doppio

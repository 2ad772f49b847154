#include "parallel/sockets/rank_sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "parallel/world/threads.h"
#include "tests/testing/manual_clock.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// Forwards to another communicator, but first lets a test inspect and change what rank 0
// broadcasts, and counts the ranks that have tried to connect.
class Listener : public Communicator {
 public:
  Listener(Communicator* end, std::function<void(char* place)> change, std::atomic<int>* tried)
      : end_(end), change_(std::move(change)), tried_(tried) {}
  int rank() const override { return end_->rank(); }
  int size() const override { return end_->size(); }
  void AllReduce(void* data, int64_t count, DType dtype) override {
    ++*tried_;
    end_->AllReduce(data, count, dtype);
  }
  void Broadcast(void* data, int64_t bytes, int root) override {
    end_->Broadcast(data, bytes, root);
    if (change_) change_(static_cast<char*>(data));
    change_ = {};
  }
  void Barrier() override { end_->Barrier(); }
  void Abort(const std::string& why) override { end_->Abort(why); }

 private:
  Communicator* const end_;
  std::function<void(char* place)> change_;
  std::atomic<int>* const tried_;
};

int64_t PortIn(const char* place) {
  int64_t port = 0;
  std::memcpy(&port, place + sizeof(uint64_t), sizeof port);
  return port;
}

// Connects like a port scanner and sends `text`. Returns the socket, which the caller closes.
int ConnectAndSay(int64_t port, const std::string& text) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  return fd;
}

// The connections of a rank, or the message of the exception that it throws.
struct Result {
  std::vector<RankSocket> sockets;
  std::string failure;
};
// Connects `size` ranks by the time of `clock`. `change[r]` modifies what rank r receives from rank
// 0. Counts the ranks that have tried to connect in `*tried`.
std::vector<Result> ConnectAll(int size, const std::map<int, std::function<void(char*)>>& change,
                               const TimeSource* clock, std::atomic<int>* tried) {
  auto ends = MakeThreadTeam(size);
  std::vector<Result> results(ends.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const size_t r = static_cast<size_t>(rank);
      const auto found = change.find(rank);
      Listener control(ends[r].get(),
                       found == change.end() ? std::function<void(char*)>() : found->second, tried);
      results[r].failure = MistakeIfAny<UnreachableRank>([&] {
        results[r].sockets = ConnectRanks(&control, "node" + std::to_string(rank), clock);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

std::vector<Result> ConnectAll(int size,
                               const std::map<int, std::function<void(char*)>>& change = {}) {
  std::atomic<int> tried{0};
  return ConnectAll(size, change, MachineTime(), &tried);
}

TEST(RankSockets, ConnectAllRanksToRankZero) {
  const std::vector<Result> results = ConnectAll(4);
  ASSERT_EQ(results[0].sockets.size(), 3u) << results[0].failure;
  std::map<int, const RankSocket*> by_rank;
  for (const RankSocket& one : results[0].sockets) by_rank[one.rank] = &one;
  for (int rank = 1; rank < 4; ++rank) {
    ASSERT_EQ(by_rank.count(rank), 1u);
    EXPECT_EQ(by_rank[rank]->host, "node" + std::to_string(rank));
    const auto& own = results[static_cast<size_t>(rank)].sockets;
    ASSERT_EQ(own.size(), 1u);
    EXPECT_EQ(own[0].host, "node0");
    char byte = static_cast<char>(rank), received = 0;
    ASSERT_EQ(send(own[0].socket.get(), &byte, 1, 0), 1);
    pollfd comes = {by_rank[rank]->socket.get(), POLLIN, 0};
    ASSERT_EQ(poll(&comes, 1, 60'000), 1);
    ASSERT_EQ(recv(by_rank[rank]->socket.get(), &received, 1, 0), 1);
    EXPECT_EQ(received, byte);
  }
  EXPECT_TRUE(ConnectAll(1)[0].sockets.empty());
}

// Other programs connect before the ranks do: one sends nothing, one closes at once, one speaks
// HTTP, and one claims to be rank 2 with a wrong token.
TEST(RankSockets, IgnoreOtherConnections) {
  std::vector<int> open;
  const auto scan = [&](char* place) {
    const int64_t port = PortIn(place);
    open.push_back(ConnectAndSay(port, ""));
    close(ConnectAndSay(port, ""));
    open.push_back(ConnectAndSay(port, std::string(1000, 'G')));
    std::string hello(272, 0);
    hello[8] = 2;
    open.push_back(ConnectAndSay(port, hello));
  };
  const std::vector<Result> results = ConnectAll(3, {{1, scan}});
  ASSERT_EQ(results[0].sockets.size(), 2u) << results[0].failure;
  EXPECT_NE(results[0].sockets[0].rank, results[0].sockets[1].rank);
  for (const Result& result : results) EXPECT_EQ(result.failure, "");
  for (const int fd : open) close(fd);
}

// One rank finds no listener at the port. All ranks throw the message of that rank, once rank 0 no
// longer waits for it.
TEST(RankSockets, ThatCannotBeConnectedAreNamedOnAllRanks) {
  ManualClock clock;
  std::atomic<int> tried{0};
  std::vector<Result> results;
  std::thread connecting([&] {
    const auto change = [](char* place) {
      const int64_t closed = 1;
      std::memcpy(place + sizeof(uint64_t), &closed, sizeof closed);
    };
    results = ConnectAll(3, {{2, change}}, &clock, &tried);
  });
  while (tried < 2) std::this_thread::yield();
  EXPECT_TRUE(clock.Advance(0, 1));
  EXPECT_EQ(tried, 2);
  clock.Advance(10);
  connecting.join();
  for (const Result& result : results) {
    EXPECT_EQ(result.failure.compare(0, 48, "rank 2 on node2 cannot reach rank 0 on node0 at "), 0)
        << result.failure;
    EXPECT_NE(result.failure.find(" port 1; check for a firewall between them"), std::string::npos)
        << result.failure;
  }
}

}  // namespace
}  // namespace doppio

#include "parallel/elastic/waiting_list.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace doppio {
namespace {

// A process that waits. Returns its end of the connection.
Socket Come(WaitingList* list, uint64_t number, ElasticRequest::Kind kind) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  WaitingList::Received received = {Socket(ends[0]), {}};
  received.request.number = number;
  received.request.kind = kind;
  list->Add(std::move(received));
  return Socket(ends[1]);
}

std::vector<uint64_t> Numbers(WaitingList* list) {
  std::vector<uint64_t> numbers;
  for (const ElasticRequest& request : list->Requests()) numbers.push_back(request.number);
  return numbers;
}

bool IsClosed(const Socket& socket) {
  char nothing;
  return recv(socket.get(), &nothing, 1, 0) == 0;
}

TEST(WaitingList, KeepsTheOrderOfComing) {
  WaitingList list;
  const Socket a = Come(&list, 7, ElasticRequest::kJoin);
  const Socket b = Come(&list, 3, ElasticRequest::kRejoin);
  const Socket c = Come(&list, 5, ElasticRequest::kJoin);
  EXPECT_EQ(Numbers(&list), (std::vector<uint64_t>{7, 3, 5}));
  EXPECT_EQ(list.newcomers(), 2);
}

TEST(WaitingList, ReplacesTheConnectionOfAProcess) {
  WaitingList list;
  const Socket first = Come(&list, 7, ElasticRequest::kJoin);
  const Socket second = Come(&list, 7, ElasticRequest::kJoin);
  EXPECT_TRUE(IsClosed(first));
  EXPECT_FALSE(IsClosed(second));
  EXPECT_EQ(list.newcomers(), 1);
}

TEST(WaitingList, ReleasesTheConnectionOfAProcess) {
  WaitingList list;
  const Socket a = Come(&list, 7, ElasticRequest::kJoin);
  const Socket b = Come(&list, 3, ElasticRequest::kRejoin);
  EXPECT_TRUE(list.Release(7).open());
  EXPECT_TRUE(IsClosed(a)) << "the returned socket has been destroyed";
  EXPECT_FALSE(list.Release(7).open());
  EXPECT_EQ(Numbers(&list), (std::vector<uint64_t>{3}));
  EXPECT_EQ(list.newcomers(), 0);
}

TEST(WaitingList, ForgetsProcessesThatHaveEnded) {
  WaitingList list;
  Socket a = Come(&list, 7, ElasticRequest::kJoin);
  const Socket b = Come(&list, 3, ElasticRequest::kJoin);
  a = Socket();
  EXPECT_EQ(Numbers(&list), (std::vector<uint64_t>{3}));
}

TEST(WaitingList, PrunesTheProcessesThatACallerNames) {
  WaitingList list;
  const Socket a = Come(&list, 7, ElasticRequest::kJoin);
  const Socket b = Come(&list, 3, ElasticRequest::kRejoin);
  list.Prune([](const auto& one) { return one.request.kind == ElasticRequest::kRejoin; });
  EXPECT_TRUE(IsClosed(b));
  EXPECT_EQ(Numbers(&list), (std::vector<uint64_t>{7}));
}

}  // namespace
}  // namespace doppio

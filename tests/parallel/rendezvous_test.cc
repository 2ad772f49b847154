#include "parallel/tcp/rendezvous.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>

#include <cstring>
#include <thread>

#include "tests/parallel/tcp_case.h"
#include "tests/testing/log_lines.h"
#include "tests/testing/manual_clock.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

RankIdentity Program(const std::string& program = "doppio 1") {
  return IdentityOf("here", program, "TCP");
}

// Lets `size` ranks meet after change(rank, &options). Returns what each has thrown.
std::vector<std::string> Meet(int size,
                              const std::function<void(int rank, RendezvousOptions*)>& change) {
  const int port = FreePort();
  return InThreads(size, [&](int rank) {
    RendezvousOptions options = RendezvousOf(port, rank, size);
    change(rank, &options);
    MeetRanks(options, Program());
  });
}

// Lets ranks 0 and 1 meet after change(rank, &options). The time in which rank 0 waits for others
// passes once it has heard rank 1: a connection, a greeting and an entry. Returns what each has
// thrown.
std::vector<std::string> MeetInVain(
    const std::function<void(int rank, RendezvousOptions*)>& change) {
  ManualClock clock;
  const int port = FreePort();
  std::thread time([&] {
    while (clock.events() < 3) std::this_thread::yield();
    EXPECT_TRUE(clock.Advance(0, 1));
    clock.Advance(RendezvousOf(port, 0, 2).seconds);
  });
  const std::vector<std::string> thrown = InThreads(2, [&](int rank) {
    RendezvousOptions options = RendezvousOf(port, rank, 2);
    if (rank == 0) options.clock = &clock;
    change(rank, &options);
    MeetRanks(options, Program());
  });
  time.join();
  return thrown;
}

TEST(Rendezvous, TellsEachRankWhereAllListen) {
  const int port = FreePort();
  std::vector<Roster> rosters(3);
  const std::vector<std::string> thrown = InThreads(
      3, [&](int rank) { rosters[rank] = MeetRanks(RendezvousOf(port, rank, 3), Program()); });
  EXPECT_EQ(thrown, std::vector<std::string>(3));
  for (const Roster& roster : rosters) {
    ASSERT_EQ(roster.listeners.size(), 3u);
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(roster.listeners[rank].Where(), rosters[rank].listeners[rank].Where());
  }
}

TEST(Rendezvous, RefusesAnotherSecret) {
  const auto thrown = MeetInVain([](int rank, RendezvousOptions* options) {
    if (rank == 1) options->secret = "another";
  });
  EXPECT_NE(thrown[0].find("only 1 of 2 ranks have come to rank 0 on here at port "),
            std::string::npos);
  EXPECT_NE(thrown[0].find("missing: rank 1. 1 connection(s) had another secret"),
            std::string::npos)
      << thrown[0];
  EXPECT_EQ(thrown[1].compare(0, 53, "rank 1 on here has another secret than rank 0 at 127."), 0)
      << thrown[1];
}

TEST(Rendezvous, RefusesAnotherJob) {
  const auto thrown = MeetInVain([](int rank, RendezvousOptions* options) {
    options->job = "SLURM job " + std::to_string(rank);
  });
  EXPECT_NE(thrown[1].find("the ranks belong to different jobs"), std::string::npos) << thrown[1];
}

TEST(Rendezvous, NamesRanksThatDoNotComeOnAllOthers) {
  const auto thrown = MeetInVain([&](int, RendezvousOptions* options) { options->size = 4; });
  EXPECT_NE(thrown[0].find("only 2 of 4 ranks"), std::string::npos) << thrown[0];
  EXPECT_NE(thrown[0].find("within 20 s; missing: rank 2, 3"), std::string::npos) << thrown[0];
  EXPECT_EQ(thrown[1], thrown[0]);
}

TEST(Rendezvous, RefusesAnotherNumberOfRanks) {
  const auto thrown = Meet(2, [](int rank, RendezvousOptions* options) {
    if (rank == 1) options->size = 3;
  });
  EXPECT_EQ(thrown[0],
            "rank 1 on here was started as one of 3 ranks, and rank 0 as one of 2; set WORLD_SIZE "
            "alike on all ranks");
  EXPECT_EQ(thrown[1], thrown[0]);
}

TEST(Rendezvous, RefusesTwoProcessesWithOneRank) {
  const auto thrown = Meet(3, [](int rank, RendezvousOptions* options) {
    if (rank == 2) options->rank = 1;
  });
  EXPECT_EQ(thrown[0],
            "two processes are rank 1, on here and on here; give each process its own RANK");
  EXPECT_EQ(thrown[1], thrown[0]);
  EXPECT_EQ(thrown[2], thrown[0]);
}

TEST(Rendezvous, RefusesDifferentBuilds) {
  const int port = FreePort();
  const auto thrown = InThreads(2, [&](int rank) {
    MeetRanks(RendezvousOf(port, rank, 2), Program("doppio " + std::to_string(rank)));
  });
  EXPECT_EQ(thrown[0],
            "the ranks run different builds of Doppio: rank 0 on here: doppio 0; rank 1 on here: "
            "doppio 1. Install the same build on all machines");
  EXPECT_EQ(thrown[1], thrown[0]);
}

TEST(Rendezvous, NamesAPortThatIsTaken) {
  int64_t port = 0;
  const Socket taken = Listen(1, &port);
  RendezvousOptions options = RendezvousOf(static_cast<int>(port), 0, 2);
  EXPECT_EQ(Mistake<UsageError>([&] { MeetRanks(options, Program()); }),
            "rank 0 on here cannot listen at port " + std::to_string(port) +
                " for the other ranks: Address already in use; set MASTER_PORT to a free port, the "
                "same for all ranks");
}

TEST(Rendezvous, NamesARankZeroThatDoesNotListen) {
  RendezvousOptions options = RendezvousOf(FreePort(), 1, 2);
  options.seconds = 0.3;
  const std::string text = Mistake<PeerError>([&] { MeetRanks(options, Program()); });
  EXPECT_NE(text.find("rank 1 on here cannot reach rank 0 at 127.0.0.1 port "), std::string::npos)
      << text;
  EXPECT_NE(text.find("Connection refused; check MASTER_ADDR and MASTER_PORT"), std::string::npos)
      << text;
}

// Rank 0 sends it to all ranks, so that the user gets one message.
TEST(Rendezvous, NamesAnUnknownInterfaceOnAllRanks) {
  for (const int wrong : {0, 1}) {
    const auto thrown = Meet(2, [&](int rank, RendezvousOptions* options) {
      if (rank == wrong) options->interface = "no0";
    });
    const std::string expected =
        "--interface=no0: here has no such network interface with an address; it has ";
    EXPECT_EQ(thrown[0].compare(0, expected.size(), expected), 0) << thrown[0];
    EXPECT_NE(thrown[0].find("lo (127.0.0.1)"), std::string::npos) << thrown[0];
    EXPECT_EQ(thrown[1], thrown[0]);
  }
}

TEST(Rendezvous, UsesTheAddressesOfTheInterface) {
  const int port = FreePort();
  InThreads(2, [&](int rank) {
    RendezvousOptions options = RendezvousOf(port, rank, 2);
    options.interface = "lo";
    for (const RankListener& listener : MeetRanks(options, Program()).listeners)
      EXPECT_EQ(listener.Where().compare(0, 9, "127.0.0.1"), 0) << listener.Where();
  });
}

// Other programs that send anything, or nothing, do not keep the ranks from meeting.
TEST(Rendezvous, IgnoresOtherPrograms) {
  const int port = FreePort();
  std::vector<Socket> pending;
  const auto thrown = InThreads(2, [&](int rank) {
    if (rank == 1) {
      for (int i = 0; i < 3; ++i) {
        Socket socket = StartConnecting("127.0.0.1", port);
        const std::string text(i * 50, 'x');
        send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
        pending.push_back(std::move(socket));
      }
    }
    MeetRanks(RendezvousOf(port, rank, 2), Program());
  });
  EXPECT_EQ(thrown, std::vector<std::string>(2));
}

// A connection of another program, and what it has sent.
struct Kept {
  Socket socket;
  std::string received;
};

// Waits for a connection, which is already begun, and accepts it.
Socket AwaitPending(const Socket& listening, std::vector<Kept>* pending) {
  pollfd wait = {listening.get(), POLLIN, 0};
  poll(&wait, 1, 10'000);
  return AcceptPending(listening, 2, pending);
}

TEST(AcceptPending, KeepsSixtyFourBesideTheRanks) {
  int64_t port = 0;
  const Socket listening = Listen(100, &port);
  std::vector<Socket> calls;
  std::vector<Kept> pending;
  for (int i = 0; i < 80; ++i) {
    calls.push_back(StartConnecting("127.0.0.1", port));
    Socket socket = AwaitPending(listening, &pending);
    ASSERT_TRUE(socket.open());
    pending.push_back({std::move(socket), i == 0 ? "sent" : ""});
  }
  EXPECT_EQ(pending.size(), 66u);
  EXPECT_EQ(pending[0].received, "sent");
}

TEST(AcceptPending, LeavesDescriptorsForFiles) {
  int64_t port = 0;
  const Socket listening = Listen(100, &port);
  const Socket first = StartConnecting("127.0.0.1", port);
  const Socket second = StartConnecting("127.0.0.1", port);
  std::vector<Kept> pending;
  pending.push_back({AwaitPending(listening, &pending), ""});
  ASSERT_TRUE(pending[0].socket.open());
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit limit = before;
  limit.rlim_cur = static_cast<rlim_t>(pending[0].socket.get()) + 20;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_FALSE(AwaitPending(listening, &pending).open());
  EXPECT_TRUE(pending.empty());  // dropped for its descriptor
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(Rendezvous, WarnsOfAPortThatIsOpenToAll) {
  RendezvousOptions options = RendezvousOf(2950, 0, 2);
  const LogLines log;
  WarnOfNoSecret(options);
  EXPECT_TRUE(log.lines.empty());
  options.secret = "";
  WarnOfNoSecret(options);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("DOPPIO_JOB_SECRET is not set: every process that reaches port "
                              "2950 of this machine can join the training"),
            std::string::npos);
}

}  // namespace
}  // namespace doppio

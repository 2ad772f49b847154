#include "parallel/watch/watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/host_name.h"
#include "parallel/sockets/rank_sockets.h"
#include "parallel/world/threads.h"
#include "tests/testing/manual_clock.h"

namespace doppio {
namespace {

constexpr double kHeartbeat = 0.5;  // seconds between heartbeats, by default

// Runs the watches of several ranks in one process and collects their reports. The time stands
// still except in Pass.
class WatchTest : public testing::Test {
 protected:
  struct Report {
    int rank;
    WatchOptions::Loss loss;
  };

  WatchOptions Options(int rank, double stall_seconds, double silence_seconds) {
    WatchOptions options;
    options.stall_seconds = stall_seconds;
    options.silence_seconds = silence_seconds;
    options.on_lost = [this, rank](const WatchOptions::Loss& loss) {
      std::lock_guard<std::mutex> lock(mutex_);
      reports_.push_back({rank, loss});
      reported_.notify_all();
    };
    options.on_endless = [this, rank] {
      std::lock_guard<std::mutex> lock(mutex_);
      reports_.push_back({rank, {"endless", ExitCode::kDone, false}});
      reported_.notify_all();
    };
    options.clock = &clock_;
    return options;
  }

  // Starts `size` watches, and returns once all have got the first heartbeat of the others. The
  // threads of watches but rank 0's send a heartbeat every `beat_seconds`, which is kHeartbeat or
  // longer than the test.
  void Start(int size, double stall_seconds = 100, double silence_seconds = 20,
             double beat_seconds = kHeartbeat) {
    events_ = clock_.events() + 2 * (size - 1);
    heartbeats_ = size - 1 + (beat_seconds == kHeartbeat ? size - 1 : 0);
    ends_ = MakeThreadTeam(size);
    watches_.resize(ends_.size());
    std::vector<std::thread> threads;
    for (size_t r = 0; r < ends_.size(); ++r) {
      threads.emplace_back([=] {
        WatchOptions options = Options(static_cast<int>(r), stall_seconds, silence_seconds);
        if (r > 0) options.beat_seconds = beat_seconds;
        watches_[r] = std::make_unique<Watch>(ends_[r].get(), options);
      });
    }
    for (std::thread& thread : threads) thread.join();
    AwaitWatches();
  }

  // Starts the watch of rank 0. Rank 1 is connected but sends nothing, as if the network had lost
  // its machine.
  void StartWithASilentRank(double silence_seconds) {
    ends_ = MakeThreadTeam(2);
    std::thread second([&] { silent_ = ConnectRanks(ends_[1].get(), "node1"); });
    watches_.push_back(std::make_unique<Watch>(ends_[0].get(), Options(0, 100, silence_seconds)));
    second.join();
    AwaitWatches();
  }

  // Returns once all watches wait for a later time and have got `events_` messages in all, or one
  // has reported.
  void AwaitWatches() {
    const auto waits = [&] {
      return clock_.waiting() >= static_cast<int>(watches_.size()) && clock_.events() >= events_;
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!waits() && Reports(0).empty()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "a watch hangs";
      std::this_thread::yield();
    }
  }

  // Lets `seconds` pass in steps of kHeartbeat, or less if a watch reports meanwhile. Returns the
  // seconds that have passed. The watches see each step, so that none counts as late.
  double Pass(double seconds) {
    const double begun = clock_.Now();
    while (clock_.Now() - begun < seconds && Reports(0).empty()) {
      events_ += heartbeats_;
      clock_.Advance(kHeartbeat);
      AwaitWatches();
    }
    return clock_.Now() - begun;
  }

  std::vector<Report> Reports(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    reported_.wait_for(lock, std::chrono::minutes(1), [&] { return reports_.size() >= count; });
    return reports_;
  }

  // Returns the messages of all reports so far.
  std::string Messages() {
    std::string messages;
    for (const Report& report : Reports(0)) messages += report.loss.message + "\n";
    return messages;
  }

  ManualClock clock_;
  int heartbeats_ = 0;  // that the watches get in kHeartbeat
  int64_t events_ = 0;  // the messages that they must have got
  std::mutex mutex_;
  std::condition_variable reported_;
  std::vector<Report> reports_;
  std::vector<std::unique_ptr<Communicator>> ends_;
  std::vector<RankSocket> silent_;
  std::vector<std::unique_ptr<Watch>> watches_;  // end first, because they report
};

TEST_F(WatchTest, SaysNothingWhileAllIsWell) {
  Start(3, 1);
  for (int i = 0; i < 10; ++i) {
    for (const auto& watch : watches_) watch->Moved(0);
    Pass(kHeartbeat);
  }
  watches_.clear();  // in rank order; a rank that leaves regularly is not reported as lost
  EXPECT_EQ(Messages(), "");
}

// A goodbye must not be held back until the heartbeat before it is acknowledged.
TEST_F(WatchTest, LeavesWhileHeartbeatsAreOnTheirWay) {
  for (int round = 0; round < 100; ++round) {
    Start(3);
    clock_.Advance(kHeartbeat);
    watches_.clear();
    ASSERT_EQ(Messages(), "") << "round " << round;
  }
}

// The thread of rank 1's watch does not get to run, but exchanges begin and end.
TEST_F(WatchTest, HearsFromARankWhoseWatchWaitsForACore) {
  Start(2, 100, 2, 1e6);
  for (int i = 0; i < 4; ++i) {
    Pass(1.5);
    watches_[1]->Moved(0);
    ++events_;
    AwaitWatches();
  }
  EXPECT_EQ(Messages(), "");
  EXPECT_EQ(Pass(10), 2);  // it sends nothing more
  const std::vector<Report> reports = Reports(1);
  ASSERT_GE(reports.size(), 1u);
  EXPECT_NE(reports[0].loss.message.find("has not answered for 2 s"), std::string::npos)
      << reports[0].loss.message;
}

TEST_F(WatchTest, SendsTheReasonOfAFailureToAllRanks) {
  for (size_t failing : {size_t{0}, size_t{2}}) {
    reports_.clear();
    Start(4);
    std::thread fails([&] { watches_[failing]->Fail(ExitCode::kFile, "record 7 is damaged"); });
    const std::vector<Report> reports = Reports(3);
    ASSERT_EQ(reports.size(), 3u);
    for (const Report& report : reports) {
      EXPECT_EQ(report.loss.code, ExitCode::kFile);
      EXPECT_EQ(report.loss.message, "rank " + std::to_string(failing) + " on " + HostName() +
                                         " has failed: record 7 is damaged");
      EXPECT_EQ(report.loss.first, report.rank == 0) << report.rank;
    }
    if (failing > 0) watches_[0].reset();  // the failing rank waits for its end
    fails.join();
    watches_.clear();
  }
}

// Otherwise a launcher might kill rank 0, because another rank has exited, before rank 0 reports.
TEST_F(WatchTest, AFailedRankEndsAfterRank0) {
  Start(2);
  std::atomic<bool> ended{false};
  std::thread failing([&] {
    watches_[1]->Fail(ExitCode::kFile, "record 7 is damaged");
    ended = true;
  });
  EXPECT_EQ(Reports(1).size(), 1u);
  EXPECT_TRUE(clock_.Advance(0, 1));
  EXPECT_TRUE(clock_.Advance(2.75, 1)) << "the failed rank does not wait";
  EXPECT_FALSE(ended);
  watches_[0].reset();
  failing.join();  // less than 3 s have passed, so the end of rank 0 has ended the wait
}

TEST_F(WatchTest, AFailedRankWaitsThreeSecondsForTheEndOfRank0) {
  Start(2);
  std::thread failing([&] { watches_[1]->Fail(ExitCode::kFile, "record 7 is damaged"); });
  EXPECT_EQ(Reports(1).size(), 1u);
  EXPECT_TRUE(clock_.Advance(0, 1));
  clock_.Advance(3);
  failing.join();
}

TEST_F(WatchTest, NamesTheRankThatDoesNotKeepUp) {
  Start(3, 1);
  watches_[0]->Moved(4);
  watches_[2]->Moved(4);
  // The next heartbeats show the progress. After the limit, ranks may be late by four heartbeats.
  EXPECT_EQ(Pass(10), kHeartbeat + 1 + 4 * kHeartbeat);
  const std::vector<Report> reports = Reports(3);
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0].loss.message,
            "rank 1 on " + HostName() +
                " has made no progress for 1 s (limit --stall_timeout): no rank has, and it is "
                "behind the others");
}

TEST_F(WatchTest, FindsASilentRankLongBeforeAStall) {
  StartWithASilentRank(1);
  EXPECT_EQ(Pass(10), 1);
  const std::vector<Report> reports = Reports(1);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(
      reports[0].loss.message,
      "rank 1 on node1 has not answered for 1 s (limit --silence_timeout): it is stopped, its "
      "machine is lost, or the network between them is cut");
  EXPECT_TRUE(reports[0].loss.unreachable);
  EXPECT_TRUE(reports[0].loss.first);
}

// A stall would be reported after 3 s.
TEST_F(WatchTest, LimitsTheTimeOfALibraryThatEndsAfterAllRanksHaveFinished) {
  Start(2, 1);
  for (const auto& watch : watches_) watch->ExpectEnd();
  EXPECT_EQ(Pass(20), 10);
  EXPECT_EQ(Reports(2).size(), 2u);
  EXPECT_EQ(Messages(), "endless\nendless\n");
}

TEST_F(WatchTest, DoesNotMissARankThatEndsWithoutAGoodbyeAfterAllHaveFinished) {
  StartWithASilentRank(1);
  watches_[0]->ExpectEnd();
  silent_.clear();
  EXPECT_EQ(Pass(5), 5);
  EXPECT_EQ(Messages(), "");
}

// As if this process had been stopped for a while.
TEST_F(WatchTest, DoesNotCountTimeInWhichItDidNotRunAsSilence) {
  StartWithASilentRank(5);
  EXPECT_TRUE(clock_.Advance(1000, 1)) << "the watch has reported";
  EXPECT_EQ(Pass(4), 4);
  EXPECT_EQ(Messages(), "");
  EXPECT_LE(Pass(10), 1);
}

}  // namespace
}  // namespace doppio

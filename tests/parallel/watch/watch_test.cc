#include "parallel/watch/watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "core/base/host_name.h"
#include "parallel/watch/rank_sockets.h"
#include "parallel/world/threads.h"

namespace doppio {
namespace {

// Runs the watches of several ranks in one process and collects their reports.
class WatchTest : public testing::Test {
 protected:
  struct Report {
    int rank;
    WatchOptions::Loss loss;
  };

  // The threads of watches but rank 0's send a sign every `beat_seconds`.
  void Start(int size, double stall_seconds = 100, double silence_seconds = 20,
             double beat_seconds = 0.5) {
    ends_ = MakeThreadTeam(size);
    watches_.resize(ends_.size());
    std::vector<std::thread> threads;
    for (size_t r = 0; r < ends_.size(); ++r) {
      threads.emplace_back([=] {
        WatchOptions options;
        options.stall_seconds = stall_seconds;
        options.silence_seconds = silence_seconds;
        if (r > 0) options.beat_seconds = beat_seconds;
        options.on_lost = [this, r](const WatchOptions::Loss& loss) {
          std::lock_guard<std::mutex> lock(mutex_);
          reports_.push_back({static_cast<int>(r), loss});
          reported_.notify_all();
        };
        watches_[r] = std::make_unique<Watch>(ends_[r].get(), options);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::vector<Report> Reports(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    reported_.wait_for(lock, std::chrono::seconds(10), [&] { return reports_.size() >= count; });
    return reports_;
  }

  std::mutex mutex_;
  std::condition_variable reported_;
  std::vector<Report> reports_;
  std::vector<std::unique_ptr<Communicator>> ends_;
  std::vector<std::unique_ptr<Watch>> watches_;  // end first, because they report
};

TEST_F(WatchTest, SaysNothingWhileAllIsWell) {
  Start(3, 1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) {
    for (const auto& watch : watches_) watch->Moved(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  watches_.clear();  // in rank order; a rank that leaves regularly is not reported as lost
  EXPECT_EQ(Reports(0).size(), 0u);
}

// The thread of rank 1's watch does not get to run, but exchanges begin and end.
TEST_F(WatchTest, HearsFromARankWhoseWatchWaitsForACore) {
  Start(2, 100, 2, 100);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (std::chrono::steady_clock::now() < end) {
    watches_[1]->Moved(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(Reports(0).size(), 0u);
  const std::vector<Report> reports = Reports(1);  // it sends nothing more
  ASSERT_GE(reports.size(), 1u);
  EXPECT_NE(reports[0].loss.message.find("has been silent for 2 s"), std::string::npos)
      << reports[0].loss.message;
}

TEST_F(WatchTest, SendsTheReasonOfAFailureToAllRanks) {
  for (size_t failing : {size_t{0}, size_t{2}}) {
    reports_.clear();
    Start(4);
    watches_[failing]->Fail(ExitCode::kFile, "record 7 is damaged");
    const std::vector<Report> reports = Reports(3);
    ASSERT_EQ(reports.size(), 3u);
    for (const Report& report : reports) {
      EXPECT_EQ(report.loss.code, ExitCode::kFile);
      EXPECT_EQ(report.loss.message, "rank " + std::to_string(failing) + " on " + HostName() +
                                         " has failed: record 7 is damaged");
      EXPECT_EQ(report.loss.first, report.rank == 0) << report.rank;
    }
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
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(ended);
  const auto begun = std::chrono::steady_clock::now();
  watches_[0].reset();
  failing.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
}

TEST_F(WatchTest, NamesTheRankThatDoesNotKeepUp) {
  Start(3, 1);
  watches_[0]->Moved(4);
  watches_[2]->Moved(4);
  const std::vector<Report> reports = Reports(3);
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_NE(reports[0].loss.message.find("no rank has made progress for 1 s; rank 1 on " +
                                         HostName() + " is behind"),
            std::string::npos)
      << reports[0].loss.message;
}

// Rank 1 is connected but sends nothing, as if the network had lost its machine.
TEST_F(WatchTest, FindsASilentRankLongBeforeAStall) {
  ends_ = MakeThreadTeam(2);
  std::vector<RankSocket> silent;
  std::thread second([&] { silent = ConnectRanks(ends_[1].get(), "node1"); });
  WatchOptions options;
  options.silence_seconds = 1;
  options.on_lost = [this](const WatchOptions::Loss& loss) {
    std::lock_guard<std::mutex> lock(mutex_);
    reports_.push_back({0, loss});
    reported_.notify_all();
  };
  watches_.push_back(std::make_unique<Watch>(ends_[0].get(), options));
  second.join();
  const std::vector<Report> reports = Reports(1);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].loss.message,
            "rank 1 on node1 has been silent for 1 s: it is stopped, its machine is lost, or the "
            "network between them is cut (--silence_timeout)");
  EXPECT_TRUE(reports[0].loss.unreachable);
  EXPECT_TRUE(reports[0].loss.first);
}

}  // namespace
}  // namespace doppio

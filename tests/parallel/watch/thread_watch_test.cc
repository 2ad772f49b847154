// Tests the watch of ranks that are threads of one process.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "parallel/watch/watch.h"
#include "parallel/world/thread_world.h"
#include "tests/testing/manual_clock.h"

namespace doppio {
namespace {

// The watch looks this often at the progress of the ranks.
constexpr double kLook = 0.5;

// Stores a watch's report. The watch's time stands still except in Pass.
struct Report {
  WatchOptions Options(double stall_seconds) {
    WatchOptions options;
    options.stall_seconds = stall_seconds;
    options.on_lost = [this](const WatchOptions::Loss& loss) { lost.set_value(loss); };
    options.clock = &clock;
    return options;
  }
  // Returns once the watch, which must not report, has looked that often.
  void Pass(int beats) {
    for (int i = 0; i < beats; ++i) ASSERT_TRUE(clock.Advance(kLook, 1)) << "the watch has ended";
  }
  bool Exists() const {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  ManualClock clock;
  std::promise<WatchOptions::Loss> lost;
  std::future<WatchOptions::Loss> future = lost.get_future();
};

TEST(ThreadWatch, NamesTheRankThatIsBehind) {
  Report report;
  Watch watch(3, report.Options(2));
  ASSERT_TRUE(report.clock.Advance(0, 1));
  for (const int rank : {0, 1, 2, 0, 2}) watch.Moved(4, rank);
  // The next look sees the progress. The limit has passed 2 s later.
  report.Pass(1 + 3);
  EXPECT_FALSE(report.Exists());
  report.clock.Advance(kLook);
  const WatchOptions::Loss loss = report.future.get();
  EXPECT_EQ(loss.message,
            "rank 1 has made no progress for 2 s (limit --stall_timeout): no rank has, and it is "
            "behind the others; last seen at bucket 4");
  EXPECT_EQ(loss.code, ExitCode::kPeer);
  EXPECT_TRUE(loss.first);
}

TEST(ThreadWatch, SaysNothingWhileRanksMove) {
  Report report;
  Watch watch(2, report.Options(2));
  for (int i = 0; i < 15; ++i) {
    watch.Moved(0, i % 2);
    report.Pass(3);
  }
  EXPECT_FALSE(report.Exists());
}

TEST(ThreadWatch, LetsTheLastRankTakeItsTime) {
  Report report;
  Watch watch(2, report.Options(2));
  watch.Leave();
  report.Pass(20);
  EXPECT_FALSE(report.Exists());
}

// As if a batch system had stopped the process for a while.
TEST(ThreadWatch, DoesNotCountTimeInWhichTheProcessDidNotRun) {
  Report report;
  Watch watch(2, report.Options(2));
  ASSERT_TRUE(report.clock.Advance(0, 1));
  ASSERT_TRUE(report.clock.Advance(1000, 1)) << "the watch has reported";
  // 0.5 s have counted. The rest of the limit begins now.
  report.Pass(2);
  EXPECT_FALSE(report.Exists());
  report.clock.Advance(kLook);
  EXPECT_NE(report.future.get().message.find("rank 0 has made no progress"), std::string::npos);
}

TEST(ThreadWatch, WatchesRanksOfOneProcess) {
  Report report;
  std::atomic<bool> waits{false};
  RunThreadWorld(
      2, {},
      [&](World& world) {
        world.control().Barrier();
        if (world.rank() == 0) waits = true;
        // Rank 1 hangs until the watch has reported that rank 0 waits for it.
        if (world.rank() == 1) {
          while (!waits) std::this_thread::yield();
          report.Pass(19);
          while (!report.Exists()) report.clock.Advance(kLook);
        }
        world.control().Barrier();
      },
      {}, {}, report.Options(10));
  EXPECT_NE(report.future.get().message.find("rank 1 has made no progress for 10 s"),
            std::string::npos);
}

}  // namespace
}  // namespace doppio

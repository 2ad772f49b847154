#include "parallel/watch/stall_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

#include "core/base/error.h"
#include "parallel/world/thread_world.h"

namespace doppio {
namespace {

using std::chrono::milliseconds;

// Stores a watch's report.
struct Report {
  WatchOptions Options(double stall_seconds) {
    WatchOptions options;
    options.stall_seconds = stall_seconds;
    options.on_lost = [this](const WatchOptions::Loss& loss) { lost.set_value(loss); };
    return options;
  }
  std::promise<WatchOptions::Loss> lost;
  std::future<WatchOptions::Loss> future = lost.get_future();
};

TEST(StallWatch, NamesTheRankThatIsBehind) {
  Report report;
  StallWatch watch(3, report.Options(0.3));
  for (const int rank : {0, 1, 2, 0, 2}) watch.Moved(rank, 4);
  ASSERT_EQ(report.future.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  const WatchOptions::Loss loss = report.future.get();
  EXPECT_EQ(loss.message,
            "no rank has made progress for 0 s; rank 1 is behind the others, last seen at bucket 4 "
            "(--stall_timeout)");
  EXPECT_EQ(loss.code, ExitCode::kPeer);
  EXPECT_TRUE(loss.first);
}

TEST(StallWatch, SaysNothingWhileRanksMove) {
  Report report;
  StallWatch watch(2, report.Options(0.4));
  for (int i = 0; i < 15; ++i) {
    watch.Moved(i % 2, 0);
    std::this_thread::sleep_for(milliseconds(60));
  }
  EXPECT_EQ(report.future.wait_for(milliseconds(0)), std::future_status::timeout);
}

TEST(StallWatch, LetsTheLastRankTakeItsTime) {
  Report report;
  StallWatch watch(2, report.Options(0.2));
  watch.Leave(1);
  EXPECT_EQ(report.future.wait_for(milliseconds(900)), std::future_status::timeout);
}

TEST(StallWatch, WatchesRanksOfOneProcess) {
  Report report;
  RunThreadWorld(
      2, {},
      [&](World& world) {
        world.control().Barrier();
        // Rank 1 hangs until the watch has reported that rank 0 waits for it.
        if (world.rank() == 1) report.future.wait();
        world.control().Barrier();
      },
      {}, {}, report.Options(0.3));
  EXPECT_NE(report.future.get().message.find("; rank 1 is behind the others"), std::string::npos);
}

}  // namespace
}  // namespace doppio

// Tests run.json and exit.json of a run without a trainer.
#include "tools/runs/run_status.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/base/content/parsed_json.h"
#include "core/base/file.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using nlohmann::json;

class RunStatusTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/statusXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  json Read(const std::string& name) const { return ParsedJson(ReadFile(folder_ + "/" + name)); }

  std::string folder_;
  const json run_ = {{"id", "r1"}, {"status", "running"}, {"iter", 0}, {"started", 1000}};
};

Progress ProgressOf(int64_t iteration, int64_t images, double seconds) {
  Progress progress;
  progress.iteration = iteration;
  progress.images = images;
  progress.seconds = seconds;
  return progress;
}

TEST(RunHeartbeat, ReportsTheRateOfItsInterval) {
  RunHeartbeat beat{100, 50, 128, 4};
  json run;
  beat.AddTo(&run, 110);
  EXPECT_EQ(run, json({{"heartbeat", 110.}, {"seconds", 60.}, {"images_per_s", 32.}}));
  beat.images = 64;
  beat.work_seconds = 4;
  beat.AddTo(&run, 114);
  EXPECT_EQ(run, json({{"heartbeat", 114.}, {"seconds", 64.}, {"images_per_s", 16.}}));
}

TEST(RunHeartbeat, KeepsTheRateWithoutIterations) {
  RunHeartbeat beat{100, 0, 64, 2};
  json run;
  beat.AddTo(&run, 102);
  beat.AddTo(&run, 104);
  EXPECT_EQ(run["images_per_s"], 32);
}

TEST(RunHeartbeat, CountsNoNegativeTimeIfTheClockIsSetBack) {
  RunHeartbeat beat{100, 50};
  json run;
  beat.AddTo(&run, 90);
  EXPECT_EQ(run["seconds"], 50);
}

TEST_F(RunStatusTest, RecordsTheEndWithTheBestState) {
  RunStatus status(folder_, run_, {SecondsSinceEpoch(), 0});
  status.Set({{"iter", 5}, {"seed", 3}});
  status.Write();
  EXPECT_EQ(Read("run.json")["iter"], 5);
  EXPECT_EQ(Read("run.json")["seed"], 3);
  status.Count(ProgressOf(6, 64, 1));
  EXPECT_EQ(status.iteration(), 6);
  const json best = {{"metric", "accuracy"}, {"value", 0.5}, {"iter", 6}};
  status.Set({{"best", best}});
  status.End({12, "stopped by a signal", 7, "", "doppio train"}, "stopped");
  const json run = Read("run.json"), exit = Read("exit.json");
  EXPECT_EQ(run["id"], "r1");
  EXPECT_EQ(run["status"], "stopped");
  EXPECT_EQ(run["iter"], 7);
  EXPECT_EQ(run["best"], best);
  EXPECT_EQ(exit["code"], 12);
  EXPECT_EQ(exit["reason"], "stopped by a signal");
  EXPECT_EQ(exit["iter"], 7);
  EXPECT_EQ(exit["error"], nullptr);
  EXPECT_EQ(exit["resume_command"], "doppio train");
  EXPECT_GE(exit["seconds"], 0);
  EXPECT_EQ(exit["best"], best);
}

TEST_F(RunStatusTest, ShowsNoEndBeforeExitJsonIsWritten) {
  std::filesystem::create_directory(folder_ + "/exit.json");
  RunStatus status(folder_, run_, {SecondsSinceEpoch(), 0});
  EXPECT_NE(Mistake<FileError>([&] { status.End({0, "finished", 7, "", ""}, "finished"); }), "");
  status.Write();
  EXPECT_EQ(Read("run.json")["status"], "running");
}

TEST_F(RunStatusTest, LeavesARunWithoutAnEndAsRunning) {
  { const RunStatus status(folder_, run_, {SecondsSinceEpoch(), 0}); }
  EXPECT_EQ(Read("run.json")["status"], "running");
  EXPECT_FALSE(FileExists(folder_ + "/exit.json"));
}

TEST_F(RunStatusTest, AnotherProcessRecordsALostRunOnce) {
  RecordLostRun(folder_, Error(ExitCode::kPeer, "no run yet"));
  EXPECT_FALSE(FileExists(folder_ + "/exit.json"));
  {
    RunStatus status(folder_, run_, {SecondsSinceEpoch(), 0});
    status.Count(ProgressOf(9, 64, 1));
    status.Write();
  }
  RecordLostRun(folder_, Error(ExitCode::kPeer, "rank 0 is lost"));
  RecordLostRun(folder_, Error(ExitCode::kUsage, "too late"));
  const json exit = Read("exit.json");
  EXPECT_EQ(exit["code"], static_cast<int>(ExitCode::kPeer));
  EXPECT_EQ(exit["reason"], "failed");
  EXPECT_EQ(exit["iter"], 9);
  EXPECT_EQ(exit["error"], "rank 0 is lost");
  EXPECT_EQ(exit["resume_command"], nullptr);
  EXPECT_EQ(exit["best"], nullptr);
  EXPECT_EQ(Read("run.json")["status"], "failed");
}

}  // namespace
}  // namespace doppio

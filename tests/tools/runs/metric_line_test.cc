#include "tools/runs/metric_line.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace doppio {
namespace {

constexpr const char* kLine =
    R"({"data_wait":0.25,"epoch":1.5,"gpu_mem":4096,"images_per_s":812.125,"iter":-0,)"
    R"("loss":6.103515625e-05,"lr":0.01,"outputs":{"accuracy":0.5,"loss":null},"phase":"train",)"
    R"("t":1763856000.123456})";

TEST(ScanTrainLine, ReadsWhatMetricFilesWrites) {
  TrainPoint point;
  ASSERT_TRUE(ScanTrainLine(kLine, &point));
  EXPECT_EQ(point.data_wait, 0.25);
  EXPECT_EQ(point.epoch, 1.5);
  EXPECT_EQ(point.gpu_mem, 4096);
  EXPECT_EQ(point.images_per_s, 812.125);
  EXPECT_EQ(point.iter, 0);
  EXPECT_EQ(point.loss, 6.103515625e-05);
  EXPECT_EQ(point.lr, 0.01);
  EXPECT_EQ(point.t, 1763856000.123456);
  ASSERT_EQ(point.outputs.size(), 2u);
  EXPECT_EQ(point.outputs[0], (std::pair<std::string, double>("accuracy", 0.5)));
  EXPECT_TRUE(std::isnan(point.outputs[1].second));
  ASSERT_TRUE(ScanTrainLine(R"({"iter":7,"phase":"train"})", &point));
  EXPECT_EQ(point.iter, 7);
  EXPECT_TRUE(std::isnan(point.loss));
  EXPECT_TRUE(point.outputs.empty());
}

TEST(ScanTrainLine, LeavesAllElseToAParser) {
  TrainPoint point;
  const std::string line = kLine;
  for (size_t end = 0; end < line.size(); ++end) {
    EXPECT_FALSE(ScanTrainLine(line.substr(0, end), &point)) << end;
  }
  for (const char* other :
       {"", "null", "{}", R"({"iter":1,"phase":"test"})", R"({"iter":1,"phase":"train"} )",
        R"({"iter":1,"phase":"train"}{"iter":2,"phase":"train"})", R"({"iter": 1,"phase":"train"})",
        R"({"iter":1.5,"phase":"train"})", R"({"iter":1,"loss":nan,"phase":"train"})",
        R"({"iter":1,"loss":"0.5","phase":"train"})", R"({"iter":1,"phase":"train","more":1})",
        R"({"iter":1,"outputs":{"b":1,"a":2},"phase":"train"})",
        R"({"iter":1,"outputs":{"\u0061":1},"phase":"train"})", R"({"event":"resume","t":1})"}) {
    EXPECT_FALSE(ScanTrainLine(other, &point)) << other;
  }
}

TEST(ReadRun, ReadsAMillionLinesInSeconds) {
  std::string folder = testing::TempDir() + "/longXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/run.json") << R"({"id":"long","status":"done"})";
  {
    std::ofstream lines(folder + "/metrics.jsonl");
    for (int i = 0; i < 1000000; ++i) {
      lines << R"({"data_wait":0.0012345,"epoch":1.234,"images_per_s":812.125,"iter":)" << i
            << R"(,"loss":0.123456789,"lr":0.01,"phase":"train","t":1763856000.123456})" << '\n';
    }
  }
  const auto begun = std::chrono::steady_clock::now();
  const RunRecord run = ReadRun(folder);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(run.train.size(), 1000000u);
  EXPECT_EQ(run.train.back().iter, 999999);
  EXPECT_EQ(run.train.back().loss, 0.123456789);
#ifndef __SANITIZE_THREAD__  // ten times as slow
  EXPECT_LT(seconds.count(), 5) << "12 s with a parser that makes objects";
#endif
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace doppio

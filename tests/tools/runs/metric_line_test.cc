#include "tools/runs/metric_line.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>

namespace {

std::atomic<int64_t> allocations_made{0};

}  // namespace

// Replace the operators of this program, to count its allocations. If they were inlined, the
// compiler would warn of memory of malloc that is deleted.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations_made;
  void* const memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t /*bytes*/) noexcept {
  std::free(memory);
}

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

// Returns the number of allocations with which ReadRun reads a run with so many lines.
int64_t AllocationsToRead(int lines) {
  std::string folder = testing::TempDir() + "/longXXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/run.json") << R"({"id":"long","status":"done"})";
  {
    std::ofstream metrics(folder + "/metrics.jsonl");
    for (int i = 0; i < lines; ++i) {
      metrics << R"({"data_wait":0.0012345,"epoch":1.234,"images_per_s":812.125,"iter":)" << i
              << R"(,"loss":0.123456789,"lr":0.01,"phase":"train","t":1763856000.123456})" << '\n';
    }
  }
  const int64_t before = allocations_made;
  const RunRecord run = ReadRun(folder);
  const int64_t made = allocations_made - before;
  EXPECT_EQ(run.train.size(), static_cast<size_t>(lines));
  EXPECT_EQ(run.train.back().iter, lines - 1);
  EXPECT_EQ(run.train.back().loss, 0.123456789);
  std::filesystem::remove_all(folder);
  return made;
}

// A parser that makes objects for each line takes 12 s for a million lines.
TEST(ReadRun, AllocatesNothingForMostLines) {
  const int64_t made = AllocationsToRead(1000);
  EXPECT_GT(made, 0);
  EXPECT_LT(AllocationsToRead(64000), made + 64);  // lists grow by doubling
}

}  // namespace
}  // namespace doppio

#include "tests/double/machine/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/double/machine/counters.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/journal.h"

namespace doppio::gpu_double {
namespace {

TEST(Settings, KeepDefaultsOfWhatIsNotNamed) {
  const Settings s = ParseSettings("  ");
  EXPECT_EQ(s.seed, 1u);
  EXPECT_EQ(s.devices, 4);
  EXPECT_EQ(s.order, "random");
  EXPECT_TRUE(s.refuse);
  EXPECT_EQ(s.slow_device, -1);
}

TEST(Settings, ReadEveryName) {
  const Settings s = ParseSettings(
      "seed=7 devices=2 order=late peers=pairs memory=64 capability=100 fail_malloc=3\t"
      "fail_launch=4 lose_device=5 slow_device=-1 refuse=0 nccl_fail=sum cudnn_fail=6 plant=x=y\n"
      "slow_plans=8 clock=bytes");
  EXPECT_EQ(s.seed, 7u);
  EXPECT_EQ(s.devices, 2);
  EXPECT_EQ(s.order, "late");
  EXPECT_EQ(s.peers, "pairs");
  EXPECT_EQ(s.memory_mib, 64);
  EXPECT_EQ(s.capability, 100);
  EXPECT_EQ(s.fail_malloc, 3);
  EXPECT_EQ(s.fail_launch, 4);
  EXPECT_EQ(s.lose_device, 5);
  EXPECT_EQ(s.slow_device, -1);
  EXPECT_FALSE(s.refuse);
  EXPECT_EQ(s.nccl_fail, "sum");
  EXPECT_EQ(s.cudnn_fail, 6);
  EXPECT_EQ(s.slow_plans, 8);
  EXPECT_EQ(s.clock, "bytes");
  EXPECT_EQ(s.plant, "x=y");
}

TEST(Settings, RefuseWhatTheyDoNotKnow) {
  for (const char* text :
       {"sed=1", "seed", "seed=", "=1", "seed=-1", "seed=1x", "seed=0x1", "seed= 1", "devices=17",
        "order=soon", "peers=", "refuse=2", "slow_device=-2", "memory=0", "nccl_fail=yes",
        "clock=fast", "seed=1 seed=2", "seed=99999999999999999999", "capability=--9"}) {
    EXPECT_EXIT(ParseSettings(text), ::testing::ExitedWithCode(kFaultStatus),
                "double: settings: DOPPIO_DOUBLE")
        << text;
  }
}

TEST(Settings, ComeFromTheEnvironment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, which has read no settings yet
  EXPECT_EXIT(
      {
        setenv("DOPPIO_DOUBLE", "plant=late_event", 1);
        ::_exit(Planted("late_event") && !Planted("late") ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Settings, RepeatTheRandomNumbersOfASeed) {
  Settings s;
  s.seed = 5;
  const auto draw = [&] {
    Use(s);
    std::vector<uint64_t> drawn;
    for (int i = 0; i < 100; ++i) drawn.push_back(Random(10));
    return drawn;
  };
  const auto first = draw();
  EXPECT_EQ(draw(), first);
  for (uint64_t n : first) EXPECT_LT(n, 10u);
  s.seed = 6;
  EXPECT_NE(draw(), first);
}

TEST(Counters, AddUp) {
  const Counters before = ReadCounters();
  Count(&Counters::uploads);
  Count(&Counters::upload_bytes, 12);
  EXPECT_EQ(ReadCounters().uploads - before.uploads, 1);
  EXPECT_EQ(ReadCounters().upload_bytes - before.upload_bytes, 12);
  EXPECT_EQ(ReadCounters().downloads, before.downloads);
}

TEST(Counters, AddUpByKernel) {
  CountKernel("a", 5);
  CountKernel("a", 7);
  EXPECT_EQ(ReadKernelCounts()["a"].runs, 2);
  EXPECT_EQ(ReadKernelCounts()["a"].bytes, 12);
}

TEST(Journal, ListsCallsAndEndsWithTheCounters) {
  const std::string path = ::testing::TempDir() + "/journal";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, which has opened no journal yet
  EXPECT_EXIT(
      {
        Settings s;
        s.counters = path;
        Use(s);
        NoteCall("wait", "the \"end\"", "stream 1 of GPU 0");
        CountKernel("Copy", 24);
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
  std::ifstream file(path);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_EQ(line, R"({"call": "wait", "what": "the \"end\"", "stream": "stream 1 of GPU 0"})");
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_NE(line.find(R"("host_waits": )"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("Copy": {"runs": 1, "bytes": 24})"), std::string::npos) << line;
  EXPECT_FALSE(std::getline(file, line));
}

}  // namespace
}  // namespace doppio::gpu_double

#include "tools/sweep/sweep_workers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/testing/scoped_variable.h"

namespace doppio {
namespace {

using Cores = std::vector<int>;

constexpr int kPolls = 12000;  // every 5 ms: what does not come within a minute hangs

std::string Folder() {
  std::string pattern = ::testing::TempDir() + "workersXXXXXX";
  return mkdtemp(pattern.data());
}

std::vector<Workers::Ended> WaitFor(Workers* workers) {
  for (int i = 0; i < kPolls; ++i) {
    const auto ended = workers->Poll();
    if (!ended.empty()) return ended;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

WorkerCommand Shell(const std::string& script, const std::string& log) {
  return {{"/bin/sh", "-c", script}, "/", log};
}

TEST(CpuSlots, ShareCores) {
  const auto slots = CpuSlots({0, 1, 4, 5, 6}, 2);
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(slots[0].cores, (Cores{0, 1}));
  EXPECT_EQ(slots[1].cores, (Cores{4, 5, 6}));
  EXPECT_EQ(slots[1].threads, 3);
}

TEST(CpuSlots, MoreThanCoresHaveOneThreadEach) {
  for (const WorkerSlot& slot : CpuSlots({0, 1}, 3)) {
    EXPECT_TRUE(slot.cores.empty());
    EXPECT_EQ(slot.threads, 1);
  }
}

TEST(GpuSlots, ShareGpusAndCores) {
  const auto slots = GpuSlots({0, 1, 2, 3}, {0, 1, 3, 5, 7}, 2);
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(slots[0].gpus, "0,1");
  EXPECT_EQ(slots[1].gpus, "3,5");
  EXPECT_EQ(slots[1].cores, (Cores{2, 3}));
}

TEST(Workers, ReportHowChildrenEndAndKeepTheirOutput) {
  const ScopedVariable threads("OMP_NUM_THREADS", nullptr);
  const std::string log = Folder() + "/log";
  WorkerSlot slot;
  slot.threads = 3;
  Workers workers({slot});
  EXPECT_EQ(workers.FreeSlot(), 0);
  workers.Start(0, Shell("pwd; echo $OMP_NUM_THREADS >&2; exit 7", log));
  EXPECT_EQ(workers.FreeSlot(), -1);
  auto ended = WaitFor(&workers);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].code, 7);
  EXPECT_TRUE(workers.Idle());
  workers.Start(0, Shell("kill -KILL $$", log));
  ended = WaitFor(&workers);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].code, 128 + SIGKILL);
  EXPECT_EQ(ReadFile(log), "/\n3\n");
}

TEST(Workers, StopWithUsr1) {
  const std::string log = Folder() + "/log";
  Workers workers({WorkerSlot()});
  workers.Start(0, Shell("trap 'exit 75' USR1; echo ready; while :; do sleep 0.01; done", log));
  for (int i = 0; i < kPolls && FileBytes(log) < 6; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  workers.StopAll();
  const auto ended = WaitFor(&workers);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].code, 75);
}

TEST(Workers, APathThatIsNoProgramEndsWith127) {
  Workers workers({WorkerSlot()});
  workers.Start(0, {{"/nowhere/doppio"}, "/", Folder() + "/log"});
  const auto ended = WaitFor(&workers);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].code, 127);
  EXPECT_THROW(workers.Start(0, Shell("true", "/nowhere/log")), FileError);
}

TEST(Workers, ChildrenDoNotOutliveTheirParent) {
  const std::string log = Folder() + "/log";
  const pid_t parent = fork();
  if (parent == 0) {
    Workers workers({WorkerSlot()});
    workers.Start(
        0, Shell("trap 'echo term; exit 0' TERM; echo ready; while :; do sleep 0.01; done", log));
    for (;;) pause();
  }
  for (int i = 0; i < kPolls && FileBytes(log) < 6; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(parent, SIGKILL);
  for (int i = 0; i < kPolls && FileBytes(log) < 11; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(ReadFile(log), "ready\nterm\n");
  EXPECT_EQ(waitpid(parent, nullptr, 0), parent);
}

}  // namespace
}  // namespace doppio

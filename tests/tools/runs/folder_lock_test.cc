// Tests which process and which training may use a run folder.
#include "tools/runs/folder_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/file.h"
#include "core/base/host_name.h"
#include "tests/testing/mistake.h"
#include "tests/testing/scoped_variable.h"
#include "tools/runs/metrics.h"

namespace doppio {
namespace {

using testing::HasSubstr;

class FolderLockTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/lockXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    runs_ = name;
    folder_ = runs_ + "/run";
  }
  void TearDown() override { std::filesystem::remove_all(runs_); }

  // Writes a run that began at time 1000, trained for 70 seconds, and was stopped.
  void WriteStoppedRun() {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/run.json")
        << R"({"status":"stopped","started":1000,"heartbeat":1090,"seconds":70})";
    std::ofstream(folder_ + "/exit.json") << R"({"code":12})";
  }
  std::string LockMistake(const FolderUse& use) {
    return Mistake([&] { LockRunFolder(folder_, "net", use); });
  }

  std::string runs_, folder_;
};

TEST_F(FolderLockTest, NamesNewFoldersAfterTheNet) {
  const ScopedVariable variable("DOPPIO_RUNS", runs_.c_str());
  const LockedFolder first = LockRunFolder("auto", "a net/1", {}),
                     other = LockRunFolder("auto", "a net/1", {});
  EXPECT_THAT(first.path, HasSubstr("_a_net_1"));
  EXPECT_THAT(first.path, HasSubstr(runs_));
  EXPECT_NE(first.path, other.path);
  EXPECT_FALSE(first.continues);
}

TEST_F(FolderLockTest, RefusesAFolderThatAnotherHolds) {
  const LockedFolder held = LockRunFolder(folder_ + "//", "net", {});
  EXPECT_EQ(held.path, folder_);
  EXPECT_THAT(LockMistake({}), HasSubstr("another process begins to train there"));
  EXPECT_THAT(LockMistake({/*resumes=*/true}), HasSubstr("another process begins to train there"));
  EXPECT_EQ(LockRunFolder(folder_, "net", {false, /*takes_over=*/true}).path, folder_);
}

TEST_F(FolderLockTest, CanBeLockedAgainAfterItsRelease) {
  LockRunFolder(folder_, "net", {});
  EXPECT_EQ(LockRunFolder(folder_, "net", {}).path, folder_);
}

TEST_F(FolderLockTest, RefusesARunThatIsNotResumed) {
  WriteStoppedRun();
  EXPECT_THAT(LockMistake({}), HasSubstr("holds a run already; give --resume=auto"));
  EXPECT_TRUE(FileExists(folder_ + "/exit.json"));
}

TEST_F(FolderLockTest, ContinuesAStoppedRun) {
  WriteStoppedRun();
  const LockedFolder folder = LockRunFolder(folder_, "net", {/*resumes=*/true});
  EXPECT_TRUE(folder.continues);
  EXPECT_EQ(folder.started, 1000);
  EXPECT_EQ(folder.seconds, 70);
  EXPECT_FALSE(FileExists(folder_ + "/exit.json"));
}

TEST_F(FolderLockTest, RefusesTheRunOfALivingProcess) {
  WriteStoppedRun();
  std::ofstream(folder_ + "/run.json")
      << R"({"status":"running","host":")" << HostName() << R"(","pid":)" << getppid()
      << R"(,"started":1000,"heartbeat":)" << std::to_string(SecondsSinceEpoch()) << "}";
  EXPECT_THAT(LockMistake({/*resumes=*/true}), HasSubstr(" trains there"));
  EXPECT_TRUE(LockRunFolder(folder_, "net", {false, /*takes_over=*/true}).continues);
}

}  // namespace
}  // namespace doppio

#include "core/base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/testing/mistake.h"

namespace {

int g_folder_error = 0;  // errno of fsync of a folder; 0: it succeeds

}  // namespace

// Takes the place of the C library's function in this program.
extern "C" int SyncFile(int file) __asm__("fsync");
extern "C" int SyncFile(int file) {
  struct stat info;
  if (g_folder_error == 0 || fstat(file, &info) != 0 || !S_ISDIR(info.st_mode))
    return fdatasync(file);
  errno = g_folder_error;
  return -1;
}

namespace doppio {
namespace {

// Returns a new empty folder, with a trailing '/'.
std::string Folder() {
  std::string path = testing::TempDir() + "/aside_XXXXXX";
  EXPECT_NE(mkdtemp(&path[0]), nullptr);
  return path + "/";
}

pid_t DeadProcess() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

std::string EndingIn(const std::string& temporary, pid_t process) {
  return temporary.substr(0, temporary.rfind('.') + 1) + std::to_string(process);
}

void MakeOld(const std::string& path) {
  const time_t then = time(nullptr) - 25 * 60 * 60;
  const utimbuf times = {then, then};
  EXPECT_EQ(utime(path.c_str(), &times), 0);
}

TEST(AtomicFile, AppearsWhenItIsRenamed) {
  const std::string path = Folder() + "out";
  AtomicFile file(path);
  WriteFileAtomically(file.temporary(), "new");
  file.Sync();
  EXPECT_FALSE(FileExists(path));
  file.Rename();
  EXPECT_EQ(ReadFile(path), "new");
  EXPECT_FALSE(FileExists(file.temporary()));
}

TEST(AtomicFile, LeavesNothingUnlessItIsRenamed) {
  const std::string folder = Folder();
  {
    const AtomicFile file(folder + "out");
    WriteFileAtomically(file.temporary(), "half");
  }
  EXPECT_TRUE(Glob(folder + "*").empty());
  EXPECT_THROW(AtomicFile(folder + "missing/out"), FileError);
}

TEST(AtomicFile, NeedsNoFileSystemThatCanFlushFolders) {
  const std::string path = Folder() + "out";
  for (const int reason : {EINVAL, ENOTSUP, ENOSYS}) {
    g_folder_error = reason;
    EXPECT_NO_THROW(WriteFileAtomically(path, std::to_string(reason))) << std::strerror(reason);
    EXPECT_EQ(ReadFile(path), std::to_string(reason));
  }
  for (const int reason : {EIO, ENOSPC}) {
    g_folder_error = reason;
    EXPECT_EQ(Mistake<FileError>([&] { WriteFileAtomically(path, "x"); }),
              "cannot write '" + DirName(path) + "': " + std::strerror(reason));
  }
  g_folder_error = 0;
}

TEST(AtomicFile, NamesTheHostTheBootAndTheProcess) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string name = TemporaryName("out");
  EXPECT_EQ(name.find(std::string("out.tmp.") + host + "-"), 0u) << name;
  EXPECT_TRUE(EndsWith(name, "." + std::to_string(getpid()))) << name;
}

TEST(RemoveAbandoned, RemovesTheFilesOfDeadProcessesOfThisHost) {
  const std::string start = Folder() + "run_iter_";
  const std::string own = TemporaryName(start + "5.caffemodel");
  const std::string dead = EndingIn(own, DeadProcess());
  for (const std::string& path : {own, dead}) WriteFileAtomically(path, "x");
  RemoveAbandoned(start);
  EXPECT_TRUE(FileExists(own));
  EXPECT_FALSE(FileExists(dead));
}

TEST(RemoveAbandoned, LeavesTheFilesOfOtherHostsAndBootsForADay) {
  const std::string start = Folder() + "run_iter_";
  const std::string dead = std::to_string(DeadProcess());
  const std::vector<std::string> elsewhere = {start + "5.caffemodel.tmp.other-1c8e5a02." + dead,
                                              start + "5.solverstate.tmp." + dead};
  for (const std::string& path : elsewhere) WriteFileAtomically(path, "x");
  RemoveAbandoned(start);
  for (const std::string& path : elsewhere) EXPECT_TRUE(FileExists(path)) << path;
  for (const std::string& path : elsewhere) MakeOld(path);
  RemoveAbandoned(start);
  for (const std::string& path : elsewhere) EXPECT_FALSE(FileExists(path)) << path;
}

TEST(WhyNotWritable, RemovesTheTrialFilesOfDeadProcesses) {
  const std::string path = Folder() + "run";
  const std::string dead = EndingIn(TemporaryName(path + ".trial"), DeadProcess());
  WriteFileAtomically(dead, "x");
  EXPECT_EQ(WhyNotWritable(path), "");
  EXPECT_TRUE(Glob(path + "*").empty());
}

}  // namespace
}  // namespace doppio

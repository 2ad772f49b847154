// Tests the free memory of the host, as computed from files in the kernel's format.
#include "core/device/host_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace doppio {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
const char* const kHost =
    "MemTotal:       67108864 kB\nMemFree:         1048576 kB\nMemAvailable:   33554432 kB\n";  // 32 GiB

int64_t FreeWith(const std::map<std::string, std::string>& files) {
  std::string root = testing::TempDir() + "/hostXXXXXX";
  EXPECT_NE(mkdtemp(&root[0]), nullptr);
  for (const auto& [name, text] : files) {
    const std::filesystem::path path = root + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  const int64_t free = FreeHostBytes(root);
  std::filesystem::remove_all(root);
  return free;
}

TEST(FreeHostBytes, AreWhatTheKernelCallsAvailable) {
  EXPECT_EQ(FreeWith({{"/proc/meminfo", kHost}}), 32 * kGiB);
  EXPECT_EQ(FreeWith({{"/proc/meminfo", kHost}, {"/proc/self/cgroup", "0::/\n"}}), 32 * kGiB);
}

TEST(FreeHostBytes, AreUnknownWithoutTheKernelsFiles) { EXPECT_EQ(FreeWith({}), -1); }

TEST(FreeHostBytes, OfThisMachineAreKnown) { EXPECT_GT(FreeHostBytes(), 0); }

TEST(FreeHostBytes, ObeyAGroupOfVersion2) {
  // 4 GiB are used, 1 GiB of them for file pages that can be reclaimed, so 8 - 3 GiB are free.
  EXPECT_EQ(
      FreeWith({{"/proc/meminfo", kHost},
                {"/proc/self/cgroup", "0::/job\n"},
                {"/sys/fs/cgroup/job/memory.max", "8589934592\n"},
                {"/sys/fs/cgroup/job/memory.current", "4294967296\n"},
                {"/sys/fs/cgroup/job/memory.stat", "anon 3221225472\ninactive_file 1073741824\n"}}),
      5 * kGiB);
}

TEST(FreeHostBytes, ObeyTheGroupsAbove) {
  EXPECT_EQ(FreeWith({{"/proc/meminfo", kHost},
                      {"/proc/self/cgroup", "0::/user/job\n"},
                      {"/sys/fs/cgroup/user/job/memory.max", "max\n"},
                      {"/sys/fs/cgroup/user/job/memory.current", "1073741824\n"},
                      {"/sys/fs/cgroup/user/memory.max", "3221225472\n"},
                      {"/sys/fs/cgroup/user/memory.current", "1073741824\n"}}),
            2 * kGiB);
}

TEST(FreeHostBytes, ObeyAGroupOfVersion1) {
  EXPECT_EQ(FreeWith({{"/proc/meminfo", kHost},
                      {"/proc/self/cgroup", "9:cpu,cpuacct:/other\n4:memory:/job\n0::/\n"},
                      {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4294967296\n"},
                      {"/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "2147483648\n"},
                      {"/sys/fs/cgroup/memory/job/memory.stat",
                       "cache 5\ntotal_inactive_file 1073741824\n"},
                      // cgroup version 1 writes this number if there is no limit.
                      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
                      {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "3221225472\n"}}),
            3 * kGiB);
}

TEST(FreeHostBytes, ObeyTheGroupOfAContainerThatSeesItAsTheTop) {
  EXPECT_EQ(FreeWith({{"/proc/meminfo", kHost},
                      {"/proc/self/cgroup", "4:memory:/docker/0123\n"},
                      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n"},
                      {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741824\n"}}),
            1 * kGiB);
}

TEST(FreeHostBytes, AreNoneInAGroupThatIsOverItsLimit) {
  EXPECT_EQ(FreeWith({{"/proc/meminfo", kHost},
                      {"/proc/self/cgroup", "0::/\n"},
                      {"/sys/fs/cgroup/memory.max", "1073741824\n"},
                      {"/sys/fs/cgroup/memory.current", "2147483648\n"}}),
            0);
}

}  // namespace
}  // namespace doppio

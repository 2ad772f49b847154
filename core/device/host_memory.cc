#include "core/device/host_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace doppio {
namespace {

using OptionalBytes = std::optional<int64_t>;

OptionalBytes Smallest(OptionalBytes a, OptionalBytes b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Returns the number in a file that contains only one. Returns nullopt for "max" or a missing file.
OptionalBytes ReadNumber(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// Returns the number after `name` in a file of lines "name number" or "name: number unit". Returns
// nullopt if there is none.
OptionalBytes ReadEntry(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    int64_t value = 0;
    if (words >> key >> value && key == name) return value;
  }
  return std::nullopt;
}

// Names of the files and entries in one version of control groups.
struct GroupFiles {
  std::string folder, limit, used, cache;
};

// Returns the bytes that one group can still use, or nullopt if it has no limit. The group's usage
// includes inactive pages of files, which the kernel frees when memory is needed, so they are
// subtracted.
OptionalBytes LeftInGroup(const std::string& folder, const GroupFiles& files) {
  const OptionalBytes limit = ReadNumber(folder + "/" + files.limit);
  const OptionalBytes used = ReadNumber(folder + "/" + files.used);
  if (!limit || !used) return std::nullopt;
  const int64_t cache = ReadEntry(folder + "/memory.stat", files.cache).value_or(0);
  return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *used - cache));
}

// Returns the smallest number of bytes left in the group and its parents. In a container, the
// container's own group may appear as the root, under a path that does not exist.
OptionalBytes LeftInGroups(std::string path, const GroupFiles& files) {
  OptionalBytes left;
  while (true) {
    left = Smallest(left, LeftInGroup(files.folder + path, files));
    if (path.empty()) return left;
    path.erase(path.find_last_of('/'));
  }
}

// Reads the process's groups from /proc/self/cgroup: lines "4:memory:/path" (version 1) or
// "0::/path" (version 2).
OptionalBytes LeftInAllGroups(const std::string& root) {
  const std::string top = root + "/sys/fs/cgroup";
  OptionalBytes left;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (path.empty() || path[0] != '/' || path == "/") path = "";
    if (controllers == ",,") {
      left = Smallest(left,
                      LeftInGroups(path, {top, "memory.max", "memory.current", "inactive_file"}));
    } else if (controllers.find(",memory,") != std::string::npos) {
      left = Smallest(left, LeftInGroups(path, {top + "/memory", "memory.limit_in_bytes",
                                                "memory.usage_in_bytes", "total_inactive_file"}));
    }
  }
  return left;
}

}  // namespace

int64_t FreeHostBytes(const std::string& root) {
  OptionalBytes available = ReadEntry(root + "/proc/meminfo", "MemAvailable:");
  if (available) *available *= 1024;
  return Smallest(available, LeftInAllGroups(root)).value_or(-1);
}

}  // namespace doppio

#include "tools/cli/own_path.h"

#include <unistd.h>

#include <climits>

namespace doppio {
namespace {

std::string& GivenPath() {
  static auto* path = new std::string;
  return *path;
}

}  // namespace

std::string OwnPath() {
  if (!GivenPath().empty()) return GivenPath();
  char path[PATH_MAX] = "";
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "doppio";
}

std::string ProgramOrOwn(const std::string& program) {
  return program.empty() ? OwnPath() : program;
}

void SetOwnPath(const std::string& path) { GivenPath() = path; }

}  // namespace doppio

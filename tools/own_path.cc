#include "tools/own_path.h"

#include <unistd.h>

#include <climits>

namespace doppio {

std::string OwnPath() {
  char path[PATH_MAX] = "";
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "doppio";
}

}  // namespace doppio

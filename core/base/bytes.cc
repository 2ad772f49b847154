#include "core/base/bytes.h"

#include <cstdio>

namespace doppio {

std::string Bytes(int64_t bytes) {
  char text[32];
  if (bytes < 1024) {
    std::snprintf(text, sizeof text, "%lld B", static_cast<long long>(bytes));
    return text;
  }
  double value = static_cast<double>(bytes) / 1024;
  const char* unit = "KiB";
  for (const char* larger : {"MiB", "GiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  std::snprintf(text, sizeof text, "%.1f %s", value, unit);
  return text;
}

}  // namespace doppio

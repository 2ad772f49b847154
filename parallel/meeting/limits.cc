#include "parallel/meeting/limits.h"

#include <cstdlib>

namespace doppio {

double SecondsFromEnvironment(Limit limit) {
  const LimitRow& row = RowOf(limit);
  const char* const set = std::getenv(row.set_by);
  const double seconds = set == nullptr ? 0 : std::strtod(set, nullptr);
  return seconds > 0 ? seconds : row.seconds;
}

}  // namespace doppio

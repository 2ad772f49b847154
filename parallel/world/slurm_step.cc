#include "parallel/world/slurm_step.h"

namespace doppio {

std::string FirstHost(const std::string& list) {
  const size_t end = list.find_first_of(",[");
  if (end == std::string::npos || list[end] == ',') return list.substr(0, end);
  // "rack[1-2]node[3-4]" begins with rack1node3.
  const size_t close = list.find(']', end);
  if (close == std::string::npos) return list.substr(0, end);
  const size_t number = list.find_first_of("-,]", end);
  const std::string first = list.substr(end + 1, number - end - 1);
  return list.substr(0, end) + first + FirstHost(list.substr(close + 1));
}

int StepPort(int64_t job, int64_t step) {
  constexpr int64_t kPorts = 20000, kFirstPort = 10000;
  return static_cast<int>(kFirstPort + (job % kPorts * 31 + step % kPorts) % kPorts);
}

}  // namespace doppio

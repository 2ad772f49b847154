// The number of compute threads changes only the order of sums. It also decides which kernels
// compute, so equal bits are promised only for an equal number.
#include "tests/random/relation.h"

namespace doppio {
namespace {

std::string CheckThreads(const RandomCase& random_case, Draw*, const std::string& folder) {
  Way two;
  two.folder = folder;
  const Outcome outcome = Run(random_case, two);
  const std::string repeated = Same(Run(random_case, two), outcome);
  if (!repeated.empty()) return "two runs with 2 threads: " + repeated;
  for (const int threads : {1, 3, 7}) {
    Way other = two;
    other.threads = threads;
    const std::string why =
        Compared(random_case, Run(random_case, other), outcome, kRounding, folder, other);
    if (!why.empty()) return std::to_string(threads) + " threads instead of 2: " + why;
  }
  return "";
}

DOPPIO_REGISTER(Relations, "threads", {&CheckThreads, &Always});

}  // namespace
}  // namespace doppio

#include "tests/double/cudnn/functions.h"

namespace doppio::gpu_double {

const std::vector<std::pair<const char*, void*>>& CudnnFunctions() {
  static const auto* const functions = [] {
    auto* all = new std::vector<std::pair<const char*, void*>>(LegacyFunctions());
    all->insert(all->end(), BackendFunctions().begin(), BackendFunctions().end());
    return all;
  }();
  return *functions;
}

}  // namespace doppio::gpu_double

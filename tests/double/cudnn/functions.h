// The test double of cuDNN: the functions that core/math/cudnn.h names, with their real names. The
// legacy functions are in legacy_*.cc and common.cc, and those of the graph API in backend_*.cc.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_FUNCTIONS_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_FUNCTIONS_H_

#include <utility>
#include <vector>

namespace doppio::gpu_double {

// Return names and addresses, for a lookup in place of dlsym: of all functions, and of the legacy
// functions.
const std::vector<std::pair<const char*, void*>>& CudnnFunctions();
const std::vector<std::pair<const char*, void*>>& LegacyFunctions();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_FUNCTIONS_H_

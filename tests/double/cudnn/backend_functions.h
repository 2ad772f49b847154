// Functions of cuDNN's backend (graph) API in the double of libcudnn.so.9.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_FUNCTIONS_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_FUNCTIONS_H_

#include <utility>
#include <vector>

namespace doppio::gpu_double {

// Returns names and addresses, for a lookup in place of dlsym.
const std::vector<std::pair<const char*, void*>>& BackendFunctions();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_FUNCTIONS_H_

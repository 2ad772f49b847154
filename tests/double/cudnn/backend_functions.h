// The functions of cuDNN's backend (graph) API in the double of libcudnn.so.9.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_FUNCTIONS_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_FUNCTIONS_H_

#include <utility>
#include <vector>

namespace doppio::gpu_double {

// By name, as dlsym finds them.
const std::vector<std::pair<const char*, void*>>& BackendFunctions();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_FUNCTIONS_H_

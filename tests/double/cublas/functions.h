// The double of cuBLAS: the functions that core/math/cublas_cuda.cc opens, with their real names.
//
// Products are column-major, checked as cuBLAS checks them, and computed on the host with sums in
// single precision when their turn on the stream comes. Every product needs a workspace, whose
// content it destroys: the caller's, or an internal one, which a captured stream may not use.
#ifndef DOPPIO_TESTS_DOUBLE_CUBLAS_FUNCTIONS_H_
#define DOPPIO_TESTS_DOUBLE_CUBLAS_FUNCTIONS_H_

#include <utility>
#include <vector>

namespace doppio::gpu_double {

// Names and addresses, for a lookup in place of dlsym.
const std::vector<std::pair<const char*, void*>>& CublasFunctions();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUBLAS_FUNCTIONS_H_

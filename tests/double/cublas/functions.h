// The test double of cuBLAS: the functions that core/math/cublas_cuda.cc opens, with their real
// names.
//
// Products are column-major. They are checked as cuBLAS checks them, and computed on the host in
// stream order, with sums in single precision. Every product needs a workspace and overwrites its
// content. The workspace is the caller's or an internal one; a captured stream must not use the
// internal one.
#ifndef DOPPIO_TESTS_DOUBLE_CUBLAS_FUNCTIONS_H_
#define DOPPIO_TESTS_DOUBLE_CUBLAS_FUNCTIONS_H_

#include <utility>
#include <vector>

namespace doppio::gpu_double {

// Returns names and addresses, for a lookup in place of dlsym.
const std::vector<std::pair<const char*, void*>>& CublasFunctions();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUBLAS_FUNCTIONS_H_

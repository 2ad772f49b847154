// Matrix products on the host for the doubles of the libraries.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_TENSORS_PRODUCT_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_TENSORS_PRODUCT_H_

#include <cstdint>

namespace doppio::gpu_double {

// Computes c (m x n) = a (m x k) * b (k x n), or adds the product to c if `add`. All matrices are
// dense and row-major; `a` or `b` is stored transposed if `transpose_a` or `transpose_b`. Runs on
// the calling thread, and returns the same bits for the same arguments. m, n and k must fit in an
// int.
void MultiplyMatrices(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                      const float* a, const float* b, bool add, float* c);
void MultiplyMatrices(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                      const double* a, const double* b, bool add, double* c);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_TENSORS_PRODUCT_H_

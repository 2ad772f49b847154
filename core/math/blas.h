// Matrix products of row-major arrays. float uses oneDNN on the compute pool; double, for gradient
// checks and other reference work, uses OpenBLAS on the calling thread.
#ifndef DOPPIO_CORE_MATH_BLAS_H_
#define DOPPIO_CORE_MATH_BLAS_H_

#include <cstdint>

namespace doppio {

// Computes C (m x n) = alpha * op(A) (m x k) * op(B) (k x n) + beta * C, where op transposes the
// stored matrix if the flag is set. If beta is 0, the old contents of C are ignored, even NaN.
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
          const float* a, const float* b, float beta, float* c);
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
          const double* a, const double* b, double beta, double* c);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_BLAS_H_

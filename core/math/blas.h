// Matrix products on row-major arrays: float by oneDNN on the one compute pool, double (gradient
// checks and other reference work) by OpenBLAS on the calling thread.
#ifndef DOPPIO_CORE_MATH_BLAS_H_
#define DOPPIO_CORE_MATH_BLAS_H_

#include <cstdint>

namespace doppio {

// C (m x n) = alpha * op(A) (m x k) * op(B) (k x n) + beta * C; op transposes when asked. beta 0
// ignores what C held, NaN included.
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
          const float* a, const float* b, float beta, float* c);
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
          const double* a, const double* b, double beta, double* c);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_BLAS_H_

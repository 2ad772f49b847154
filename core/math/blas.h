// Matrix products of row-major arrays. float uses oneDNN on the compute pool; double, for gradient
// checks and other reference work, uses OpenBLAS on the calling thread.
#ifndef DOPPIO_CORE_MATH_BLAS_H_
#define DOPPIO_CORE_MATH_BLAS_H_

#include <cstdint>

namespace doppio {

// A matrix whose rows begin `row` elements apart, which is at least their length. Not owned.
template <class T>
struct GemmRows {
  T* data;
  int64_t row;
};

// Computes C (m x n) = alpha * op(A) (m x k) * op(B) (k x n) + beta * C, where op transposes the
// stored matrix if the flag is set. If beta is 0, the old contents of C are ignored, even NaN.
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
          const GemmRows<const float>& a, const GemmRows<const float>& b, float beta,
          const GemmRows<float>& c);
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
          const GemmRows<const double>& a, const GemmRows<const double>& b, double beta,
          const GemmRows<double>& c);

// The same for matrices without gaps between their rows. T is float or double.
template <class T>
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a,
          const T* b, T beta, T* c) {
  Gemm(transpose_a, transpose_b, m, n, k, alpha, GemmRows<const T>{a, transpose_a ? m : k},
       GemmRows<const T>{b, transpose_b ? k : n}, beta, GemmRows<T>{c, n});
}

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_BLAS_H_

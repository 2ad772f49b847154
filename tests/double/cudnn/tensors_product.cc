#include "tests/double/cudnn/tensors_product.h"

#include <cblas.h>

namespace doppio::gpu_double {
namespace {

// OpenBLAS's threads would compete with other work of the machine and change the order of sums.
void UseOneThread() {
  static const bool single = (openblas_set_num_threads(1), true);
  (void)single;
}

CBLAS_TRANSPOSE Order(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

template <class T, class Gemm>
void Multiply(const Gemm& gemm, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const T* a,
              const T* b, bool add, T* c) {
  UseOneThread();
  gemm(CblasRowMajor, Order(ta), Order(tb), static_cast<int>(m), static_cast<int>(n),
       static_cast<int>(k), 1, a, static_cast<int>(ta ? m : k), b, static_cast<int>(tb ? k : n),
       add ? 1 : 0, c, static_cast<int>(n));
}

}  // namespace

void MultiplyMatrices(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a,
                      const float* b, bool add, float* c) {
  Multiply(cblas_sgemm, ta, tb, m, n, k, a, b, add, c);
}

void MultiplyMatrices(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double* a,
                      const double* b, bool add, double* c) {
  Multiply(cblas_dgemm, ta, tb, m, n, k, a, b, add, c);
}

}  // namespace doppio::gpu_double

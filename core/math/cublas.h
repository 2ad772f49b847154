// Matrix products on a GPU by cuBLAS, which is opened at the first one.
#ifndef DOPPIO_CORE_MATH_CUBLAS_H_
#define DOPPIO_CORE_MATH_CUBLAS_H_

#include <cstdint>

#include "core/device/device.h"

namespace doppio {

// Row-major, as Gemm in core/math/blas.h: C (m x n) = alpha * op(A) (m x k) * op(B) (k x n) + beta * C. In the order of
// the device's stream.
void GpuGemm(Device* device, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
             const float* a, const float* b, float beta, float* c);

// `batch` products of one shape: matrix i starts `stride` elements after matrix i - 1. A stride of 0 repeats one matrix.
struct GemmStrides {
  int64_t a = 0, b = 0, c = 0;
};
void GpuGemmBatch(Device* device, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
                  const float* a, const float* b, float beta, float* c, GemmStrides strides, int64_t batch);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUBLAS_H_

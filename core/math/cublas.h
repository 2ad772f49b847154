// Matrix products on a GPU with cuBLAS, which the first product opens at run time.
#ifndef DOPPIO_CORE_MATH_CUBLAS_H_
#define DOPPIO_CORE_MATH_CUBLAS_H_

#include <cstdint>

#include "core/device/device.h"
#include "core/tensor/dtype.h"

namespace doppio {

// Sizes of a batch of products. Factors may be stored in 16 bits; sums are always in single
// precision.
struct GemmShape {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;  // number of products of this shape
};
// A batch of row-major matrices. Rows may be padded, and matrix i starts `step` elements after
// matrix i - 1. Not owned.
struct GemmMatrix {
  void* data = nullptr;
  DType type = DType::kFloat32;
  int64_t row = 0;  // elements from one row to the next, at least the row's length
  int64_t step = 0;
};
// Describes a factor, which GpuGemm only reads.
inline GemmMatrix GemmFactor(const void* data, DType type, int64_t row, int64_t step = 0) {
  return {const_cast<void*>(data), type, row, step};
}
// Enqueues C = op(A) * op(B) + beta * C on the device's stream. If beta is 0, the old contents of C
// are ignored. A and B must have the same type; C must have this type or be in single precision.
// Throws DeviceError.
void GpuGemm(Device* device, const GemmShape& shape, const GemmMatrix& a, const GemmMatrix& b,
             float beta, const GemmMatrix& c);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUBLAS_H_

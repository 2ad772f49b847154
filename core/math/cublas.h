// Matrix products on a GPU by cuBLAS, which is opened at the first one.
#ifndef DOPPIO_CORE_MATH_CUBLAS_H_
#define DOPPIO_CORE_MATH_CUBLAS_H_

#include <cstdint>

#include "core/device/device.h"
#include "core/tensor/dtype.h"

namespace doppio {

// Products of factors that may be stored in 16 bits. Sums are in single precision whatever the
// types.
struct GemmShape {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;  // products of this shape
};
// Rows may lie farther apart than they are long, and matrix i of a batch `step` elements after
// matrix i - 1.
struct GemmMatrix {
  void* data = nullptr;
  DType type = DType::kFloat32;
  int64_t row = 0;  // elements from one row to the next
  int64_t step = 0;
};
// Of a factor, which is only read.
inline GemmMatrix GemmFactor(const void* data, DType type, int64_t row, int64_t step = 0) {
  return {const_cast<void*>(data), type, row, step};
}
// C = op(A) * op(B) + beta * C, where beta 0 ignores what C held. A and B are of one type, C of the
// same one or in single precision.
void GpuGemm(Device* device, const GemmShape& shape, const GemmMatrix& a, const GemmMatrix& b,
             float beta, const GemmMatrix& c);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUBLAS_H_

// Muon's update of matrices on the CPU: the momentum is replaced by the nearest semi-orthogonal
// matrix, so that all directions of the matrix are learned at the same speed.
//
// Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024. A parameter is a
// matrix of its first axis times all others, if both have more than one element. The factor
// 0.2 sqrt(max(rows, columns)) gives steps of AdamW's size, so that one learning rate and one decay
// serve both: Liu et al., "Muon is Scalable for LLM Training", arXiv 2502.16982, 2025, equation 4.
#ifndef DOPPIO_SOLVERS_UPDATE_MATRIX_UPDATE_H_
#define DOPPIO_SOLVERS_UPDATE_MATRIX_UPDATE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/math/tensor_ops.h"
#include "core/net/store/param.h"
#include "solvers/update/apply.h"
#include "solvers/update/update_element.h"

namespace doppio {

// Returns true if all values are finite.
template <class T>
bool AllFinite(const T* values, int64_t n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += values[i] * 0;  // NaN unless it is finite
  return sum == 0;
}

// Replaces the rows x columns matrix `x`, which is row-major, by an approximation of U V^T, where
// x = U S V^T, with singular values between about 0.7 and 1.2. `next` has room for the matrix, and
// `gram` and `square` each have room for min(rows, columns)^2 elements. Returns `x` or `next`,
// which then has the result.
template <class T>
T* Orthogonalize(int64_t rows, int64_t columns, T* x, T* next, T* gram, T* square);

// One update of a matrix. All arrays have the parameter's layout.
template <class T>
struct MatrixStep {
  UpdateScalars<T> scalars;
  T rate = 0, decay = 0;  // include the parameter's multipliers
  T* gradients = nullptr;
  T* values = nullptr;
  T* history = nullptr;     // the momentum
  bool keep_steps = false;  // store the amounts subtracted from the values in `gradients`
};

// Returns the bytes of MatrixUpdates for these parameters.
int64_t MatrixUpdateBytes(const std::vector<Param>& params);

// The matrices among the parameters of one arena, and scratch memory for the largest one: two or
// three times its size and two squares of its shorter side. Not thread-safe.
class MatrixUpdates {
 public:
  // The device must be the host, and must outlive this object.
  MatrixUpdates(Device* device, const std::vector<UpdateSlice>& slices);

  // Returns true if the slice is a matrix with a gradient.
  bool Has(size_t slice) const { return matrices_[slice].rows > 0; }
  // Updates a matrix. Returns true if all its values are finite.
  template <class T>
  bool Run(size_t slice, const MatrixStep<T>& step);

 private:
  struct Matrix {
    int64_t rows = 0, columns = 0;  // 0: not a matrix
    int64_t stored = 0;             // elements in memory
    // Converters from and to the parameter's layout; null if it is plain.
    std::unique_ptr<Converter> to_plain, to_stored;
  };

  std::vector<Matrix> matrices_;  // by slice
  Buffer directions_, plain_, next_, gram_, square_;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_MATRIX_UPDATE_H_

// The form of MatMul, and the three products that its kernels compute.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_MATMUL_FORM_H_
#define DOPPIO_LAYERS_INNER_PRODUCT_MATMUL_FORM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace doppio {

// The arrays of matrices: both bottoms and the top, or their gradients.
enum MatMulArray { kMatMulA, kMatMulB, kMatMulTop };
// For each array, a number of matrices.
using MatrixCounts = std::array<int64_t, 3>;

// An axis of the batch. A step along it moves on by so many matrices, 0 if it is broadcast.
struct MatMulAxis {
  int64_t extent = 1;
  MatrixCounts step = {};
};

// The top's matrices, m x n, are op(A) * op(B), where op(A) is m x k and op transposes if the flag
// is set.
struct MatMulForm {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  std::vector<MatMulAxis>
      batch;              // outer axes first; neighbours that one axis can stand for are one
  int64_t top_count = 0;  // elements of the top

  int64_t Elements(MatMulArray array) const {
    return array == kMatMulA ? m * k : array == kMatMulB ? k * n : m * n;
  }
};

// A product of two arrays of matrices: to (rows x columns) = op(left) * op(right), whose inner
// extent is `inner`.
struct MatMulProduct {
  MatMulArray left, right, to;
  bool transpose_left, transpose_right;
  int64_t rows, columns, inner;
};

// Returns the product that computes an array: the top, or the gradient of A or B.
inline MatMulProduct ProductInto(MatMulArray to, const MatMulForm& f) {
  if (to == kMatMulTop)
    return {kMatMulA, kMatMulB, to, f.transpose_a, f.transpose_b, f.m, f.n, f.k};
  if (to == kMatMulA) {
    if (f.transpose_a) return {kMatMulB, kMatMulTop, to, f.transpose_b, true, f.k, f.m, f.n};
    return {kMatMulTop, kMatMulB, to, false, !f.transpose_b, f.m, f.k, f.n};
  }
  if (f.transpose_b) return {kMatMulTop, kMatMulA, to, true, f.transpose_a, f.n, f.k, f.m};
  return {kMatMulA, kMatMulTop, to, !f.transpose_a, false, f.k, f.n, f.m};
}

// The order in which the products of a batch are computed: group by group, where the terms of a
// group are summed up in the same matrix of one array.
class MatMulOrder {
 public:
  MatMulOrder(const std::vector<MatMulAxis>& batch, MatMulArray to) {
    for (const MatMulAxis& axis : batch) (axis.step[to] != 0 ? kept_ : summed_).push_back(axis);
  }

  int64_t groups() const { return CountOf(kept_); }
  int64_t terms() const { return CountOf(summed_); }
  // Returns the matrices of the three arrays that a term of a group reads or writes.
  MatrixCounts At(int64_t group, int64_t term) const {
    MatrixCounts at = {};
    Add(kept_, group, &at);
    Add(summed_, term, &at);
    return at;
  }
  // Removes the innermost axis of the groups and returns it.
  MatMulAxis TakeInnermost() {
    if (kept_.empty()) return MatMulAxis();
    const MatMulAxis axis = kept_.back();
    kept_.pop_back();
    return axis;
  }

 private:
  static int64_t CountOf(const std::vector<MatMulAxis>& axes) {
    int64_t count = 1;
    for (const MatMulAxis& axis : axes) count *= axis.extent;
    return count;
  }
  static void Add(const std::vector<MatMulAxis>& axes, int64_t index, MatrixCounts* at) {
    for (size_t i = axes.size(); i-- > 0;) {
      for (size_t array = 0; array < at->size(); ++array)
        (*at)[array] += index % axes[i].extent * axes[i].step[array];
      index /= axes[i].extent;
    }
  }

  std::vector<MatMulAxis> kept_, summed_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_MATMUL_FORM_H_

// MatMul: products of the matrices in the last two axes of two bottoms. The axes before them are a
// batch, with NumPy's broadcasting.
#include <algorithm>

#include "core/base/threads.h"
#include "core/math/blas.h"
#include "core/net/contract/layer.h"
#include "layers/inner_product/matmul_form.h"

namespace doppio {
namespace {

// Returns the extent of the top along an axis of the batch, counted from the last one, or throws.
int64_t BroadcastExtent(const LayerSpec& spec, const Shape& a, const Shape& b, int64_t of_a,
                        int64_t of_b) {
  spec.RefuseIf(of_a != of_b && of_a != 1 && of_b != 1, {"bottom", 1}, "bottoms 0 and 1, ",
                a.ToString(), " and ", b.ToString(),
                ", have different extents before their last two axes; they must be equal or 1");
  return of_a == 1 ? of_b : of_a;
}

// Appends an inner axis. Merges it with the last one if one step of that is `extent` steps of it.
void AppendAxis(const MatMulAxis& axis, std::vector<MatMulAxis>* batch) {
  if (axis.extent == 1) return;
  bool merges = !batch->empty();
  for (size_t i = 0; merges && i < axis.step.size(); ++i)
    merges = batch->back().step[i] == axis.step[i] * axis.extent;
  if (!merges) return batch->push_back(axis);
  batch->back().extent *= axis.extent;
  batch->back().step = axis.step;
}

// Sets the batch, and returns its extents.
std::vector<int64_t> InferBatch(const LayerSpec& spec, const Shape& a, const Shape& b,
                                MatMulForm* form) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<MatMulAxis> axes;  // inner axes first
  std::vector<int64_t> extents;
  MatrixCounts matrices = {1, 1, 1};
  for (int axis = 3; axis <= rank; ++axis) {
    const int64_t of_a = axis <= a.rank() ? a[a.rank() - axis] : 1;
    const int64_t of_b = axis <= b.rank() ? b[b.rank() - axis] : 1;
    const int64_t extent = BroadcastExtent(spec, a, b, of_a, of_b);
    axes.push_back({extent,
                    {of_a == 1 ? 0 : matrices[kMatMulA], of_b == 1 ? 0 : matrices[kMatMulB],
                     matrices[kMatMulTop]}});
    matrices = {matrices[kMatMulA] * of_a, matrices[kMatMulB] * of_b,
                matrices[kMatMulTop] * extent};
    extents.push_back(extent);
  }
  for (size_t i = axes.size(); i-- > 0;) AppendAxis(axes[i], &form->batch);
  std::reverse(extents.begin(), extents.end());
  // All rows of A are those of one matrix if B has only one matrix.
  if (matrices[kMatMulB] == 1 && !form->transpose_a) {
    form->m *= matrices[kMatMulA];
    form->batch.clear();
  }
  return extents;
}

LayerShape InferMatMul(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const MatMulParameter& param = spec.param.matmul_param();
  const Shape &a = bottoms[0], &b = bottoms[1];
  for (int i = 0; i < 2; ++i) {
    spec.RefuseIf(bottoms[i].rank() < 2, {"bottom", i}, "bottom ", i, " has shape ",
                  bottoms[i].ToString(),
                  "; MatMul needs at least 2 axes, the last of which are "
                  "rows and columns");
  }
  MatMulForm form;
  form.transpose_a = param.transpose_a();
  form.transpose_b = param.transpose_b();
  const auto extent = [](const Shape& shape, bool rows) {
    return shape[shape.rank() - (rows ? 2 : 1)];
  };
  const int64_t m = extent(a, !form.transpose_a);
  form.m = m;
  form.k = extent(a, form.transpose_a);
  form.n = extent(b, form.transpose_b);
  const int64_t rows = extent(b, !form.transpose_b);
  spec.RefuseIf(
      rows != form.k, {"bottom", 1}, "bottoms 0 and 1 are ", a.ToString(), " and ", b.ToString(),
      ": the factors have ", form.k, " columns and ", rows,
      " rows, which must be equal; transpose_a and transpose_b exchange the last two axes");
  LayerShape shape;
  shape.tops = {Shape(InferBatch(spec, a, b, &form))};
  shape.tops[0].push_back(m);
  shape.tops[0].push_back(form.n);
  form.top_count = shape.tops[0].count();
  shape.form = form;
  shape.backward_reads_tops = false;
  shape.macs = Macs({form.top_count, form.k});
  return shape;
}

template <class T>
class MatMul : public FormKernel<MatMulForm> {
 public:
  using FormKernel::FormKernel;

  void Forward(const Pass&) override {
    Compute(kMatMulTop, {BottomValues<T>(0), BottomValues<T>(1), nullptr}, TopValues<T>(0),
            form_.top_count);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    for (const MatMulArray bottom : {kMatMulA, kMatMulB}) {
      if (!t_.bottom_grads[bottom]) continue;
      Compute(bottom, {BottomValues<T>(0), BottomValues<T>(1), TopGradient<T>(0)},
              BottomGradient<T>(bottom), t_.bottom_grads[bottom].count());
    }
  }

 private:
  // Computes an array of `count` elements from the two others.
  void Compute(MatMulArray array, const std::array<const T*, 3>& from, T* to, int64_t count) const {
    const MatMulProduct p = ProductInto(array, form_);
    const MatMulOrder order(form_.batch, array);
    if (p.inner == 0 || order.terms() == 0) {
      std::fill_n(to, count, T(0));
      return;
    }
    const auto group = [&](int64_t g) {
      for (int64_t term = 0; term < order.terms(); ++term) {
        const MatrixCounts at = order.At(g, term);
        Gemm(p.transpose_left, p.transpose_right, p.rows, p.columns, p.inner, T(1),
             from[p.left] + at[p.left] * form_.Elements(p.left),
             from[p.right] + at[p.right] * form_.Elements(p.right), T(term > 0 ? 1 : 0),
             to + at[array] * form_.Elements(array));
      }
    };
    // With few groups, all threads compute each product; otherwise, one thread each.
    const int64_t groups = p.rows * p.columns == 0 ? 0 : order.groups();
    if (groups < NumThreads()) {
      for (int64_t g = 0; g < groups; ++g) group(g);
    } else {
      const int64_t macs = p.rows * p.columns * p.inner * order.terms();
      ParallelForEach(groups, 1 + 16384 / (macs + 1), group);
    }
  }
};

DOPPIO_REGISTER_LAYER("MatMul", LayerType(&InferMatMul).Bottoms(2).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<MatMul>("MatMul"));

}  // namespace
}  // namespace doppio

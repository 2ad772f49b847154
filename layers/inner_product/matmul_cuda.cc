// MatMul on a GPU with cuBLAS, for every stored type. Sums of gradients along broadcast axes are
// rounded to the stored type after each term.
#include "core/math/cublas.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/inner_product/matmul_form.h"

namespace doppio {
namespace {

class CudaMatMul : public FormKernel<MatMulForm> {
 public:
  explicit CudaMatMul(const KernelArgs& args) : FormKernel(args), type_(args.tops[0]) {
    needs_.types = {type_, type_};
  }

  void Forward(const Pass&) override {
    Compute(kMatMulTop, {t_.bottoms[0].raw, t_.bottoms[1].raw, nullptr}, t_.tops[0].raw);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    for (const MatMulArray bottom : {kMatMulA, kMatMulB}) {
      if (!t_.bottom_grads[bottom]) continue;
      Compute(bottom, {t_.bottoms[0].raw, t_.bottoms[1].raw, t_.top_grads[0].raw},
              t_.bottom_grads[bottom].raw);
    }
  }
  bool same_every_pass() const override { return true; }

 private:
  // Computes an array from the two others: the innermost axis of its batch in one call.
  void Compute(MatMulArray array, const std::array<void*, 3>& from, void* to) const {
    const MatMulProduct p = ProductInto(array, form_);
    MatMulOrder order(form_.batch, array);
    const MatMulAxis together = order.TakeInnermost();
    const auto matrix = [&](MatMulArray of, void* data, const MatrixCounts& at, int64_t row) {
      const int64_t elements = form_.Elements(of);
      char* const first = static_cast<char*>(data) + at[of] * elements * ElementBytes(type_);
      return GemmMatrix{first, type_, row, together.step[of] * elements};
    };
    const int64_t left_row = p.transpose_left ? p.rows : p.inner;
    const int64_t right_row = p.transpose_right ? p.inner : p.columns;
    for (int64_t group = 0; group < order.groups(); ++group) {
      for (int64_t term = 0; term < order.terms(); ++term) {
        const MatrixCounts at = order.At(group, term);
        GpuGemm(device_,
                {p.transpose_left, p.transpose_right, p.rows, p.columns, p.inner, together.extent},
                matrix(p.left, from[p.left], at, left_row),
                matrix(p.right, from[p.right], at, right_row), term > 0 ? 1 : 0,
                matrix(array, to, at, p.columns));
      }
    }
  }

  const DType type_;
};

std::string MatMulCudaDeclines(const KernelArgs& args) {
  const std::string why = DeclinesDouble(args);
  const bool empty = args.bottoms[0].shape.count() == 0 || args.bottoms[1].shape.count() == 0;
  return why.empty() && empty ? "a bottom is empty" : why;
}

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaMatMul>("MatMul").Declines(&MatMulCudaDeclines).Narrow());

}  // namespace
}  // namespace doppio

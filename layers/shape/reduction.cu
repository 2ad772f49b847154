// Reduction on a GPU, in single precision. Sums are in double precision.
#include "core/device/launch.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/shape/reduction_form.h"

namespace doppio {
namespace {

// Writes y[row] = factor * (sum of f(x) over the row).
static void SumTerms(const Gpu& gpu, const ReductionForm& form, double factor, const float* x,
                     float* y, void* room) {
  const ReductionTerm term = form.term;
  const int64_t columns = form.columns;
  ReduceRows(
      gpu, form.rows, columns, "Reduction", 0.0,
      DOPPIO_BODY(int64_t row, int64_t i) {
        return static_cast<double>(TermOf(term, x[row * columns + i]));
      },
      Plus(), DOPPIO_BODY(int64_t row, double sum) { y[row] = static_cast<float>(factor * sum); },
      room);
}

// Writes the gradient of the bottom. Does not read x if f(x) is x, because x may have been
// overwritten.
static void SpreadGradient(const Gpu& gpu, const ReductionForm& form, double factor, const float* x,
                           const float* dy, float* dx) {
  const ReductionTerm term = form.term;
  const int64_t columns = form.columns;
  const float scale = static_cast<float>(factor);
  const bool reads = term != ReductionTerm::kValue;
  ForEachIndex(
      gpu, form.rows * columns, "Reduction's gradient", DOPPIO_BODY(int64_t i) {
        dx[i] = scale * dy[i / columns] * (reads ? SlopeOf(term, x[i]) : 1.0f);
      });
}

class CudaReduction : public FormKernel<ReductionForm>, public ReductionScore {
 public:
  explicit CudaReduction(const KernelArgs& args) : FormKernel(args), ReductionScore(form_) {
    needs_.scratch_bytes = ReduceRowsBytes<double>(form_.rows, form_.columns);
  }

  void Forward(const Pass& pass) override {
    SumTerms(GpuOf(device_), form_, form_.Factor(pass), BottomValues<float>(0), TopValues<float>(0),
             t_.scratch);
  }
  void Backward(const Pass& pass, const std::vector<bool>&) override {
    float* dx = BottomGradient<float>(0);
    if (dx == nullptr) return;
    SpreadGradient(GpuOf(device_), form_, form_.Factor(pass), BottomValues<float>(0),
                   TopGradient<float>(0), dx);
  }
  bool same_every_pass() const override { return true; }
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaReduction>("Reduction"));

}  // namespace
}  // namespace doppio

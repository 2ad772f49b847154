// Reduction reduces the axes from `axis` on to one value: their sum, sum of magnitudes, sum of
// squares or mean.
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/loss/block_sum.h"
#include "layers/shape/reduction_form.h"

namespace doppio {
namespace {

LayerShape InferReduction(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const ReductionParameter& param = spec.param.reduction_param();
  const int axis = AxisOf(spec, "reduction_param.axis", param.axis(), bottom);
  ReductionForm form;
  const auto operation = param.operation();
  form.term = operation == ReductionParameter::ASUM    ? ReductionTerm::kMagnitude
              : operation == ReductionParameter::SUMSQ ? ReductionTerm::kSquare
                                                       : ReductionTerm::kValue;
  form.rows = bottom.count(0, axis);
  form.columns = bottom.count(axis);
  form.coeff = static_cast<double>(param.coeff());
  form.mean = operation == ReductionParameter::MEAN;
  form.sums_batch = axis == 0 && !form.mean;
  form.sums_loss =
      form.sums_batch && spec.param.loss_weight_size() > 0 && spec.param.loss_weight(0) != 0;
  LayerShape shape;
  shape.form = form;
  shape.tops = {Shape(std::vector<int64_t>(bottom.dims().begin(), bottom.dims().begin() + axis))};
  shape.backward_reads_bottoms = form.term != ReductionTerm::kValue;
  shape.backward_reads_tops = false;
  return shape;
}

constexpr int64_t kFewRows = 8;  // with fewer rows, all threads work on one row at a time

template <class T>
class ReductionKernel : public FormKernel<ReductionForm>, public ReductionScore {
 public:
  explicit ReductionKernel(const KernelArgs& args)
      : FormKernel(args), ReductionScore(form_), long_row_(form_.columns) {}

  void Forward(const Pass& pass) override {
    const double factor = form_.Factor(pass);
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    if (form_.rows < kFewRows) {
      for (int64_t r = 0; r < form_.rows; ++r) {
        y[r] = static_cast<T>(factor * long_row_([&](int64_t begin, int64_t end) {
                                return Sum(x + r * form_.columns, begin, end);
                              }));
      }
      return;
    }
    ParallelForEach(form_.rows, 1 + 16384 / (form_.columns + 1), [=](int64_t r) {
      y[r] = static_cast<T>(factor * Sum(x + r * form_.columns, 0, form_.columns));
    });
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T factor = static_cast<T>(form_.Factor(pass));
    const T* x = BottomValues<T>(0);
    const T* dy = TopGradient<T>(0);
    T* dx = BottomGradient<T>(0);
    const bool reads = form_.term != ReductionTerm::kValue;
    ParallelForEach(form_.rows * form_.columns, 8192, [=](int64_t i) {
      const T slope = reads ? SlopeOf(form_.term, x[i]) : T(1);
      dx[i] = factor * dy[i / form_.columns] * slope;
    });
  }

 private:
  // Returns the sum of f(x) over [begin, end) of a row.
  double Sum(const T* row, int64_t begin, int64_t end) const {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(TermOf(form_.term, row[i]));
    return sum;
  }

  BlockSum long_row_;
};

DOPPIO_REGISTER_LAYER("Reduction", LayerType(&InferReduction).Bottoms(1).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<ReductionKernel>("Reduction"));

}  // namespace
}  // namespace doppio

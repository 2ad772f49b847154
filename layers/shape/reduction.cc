// Reduction: the axes from `axis` on become one number, their sum, sum of magnitudes or of squares,
// or mean.
#include "layers/loss/block_sum.h"
#include "layers/shape/reduction_spec.h"

namespace doppio {
namespace {

LayerShape InferReduction(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const ReductionSpec reduction(spec, bottom);
  LayerShape shape;
  shape.tops = {
      Shape(std::vector<int64_t>(bottom.dims().begin(), bottom.dims().begin() + reduction.axis()))};
  shape.backward_reads_bottoms = reduction.rows().term != ReductionTerm::kValue;
  shape.backward_reads_tops = false;
  return shape;
}

constexpr int64_t kFewRows = 8;  // threads then share each of them

template <class T>
class ReductionKernel : public Kernel {
 public:
  explicit ReductionKernel(const KernelArgs& args)
      : spec_(*args.spec, args.bottoms[0].shape), rows_(spec_.rows()), long_row_(rows_.columns) {}

  void Forward(const Pass& pass) override {
    const double factor = spec_.Factor(pass);
    const T* x = t_.bottoms[0].template data<T>();
    T* y = t_.tops[0].template data<T>();
    if (rows_.rows < kFewRows) {
      for (int64_t r = 0; r < rows_.rows; ++r) {
        y[r] = static_cast<T>(factor * long_row_([&](int64_t begin, int64_t end) {
                                return Sum(x + r * rows_.columns, begin, end);
                              }));
      }
      return;
    }
    ParallelFor(rows_.rows, 1 + 16384 / (rows_.columns + 1), [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        y[r] = static_cast<T>(factor * Sum(x + r * rows_.columns, 0, rows_.columns));
      }
    });
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T factor = static_cast<T>(spec_.Factor(pass));
    const T* x = t_.bottoms[0].template data<T>();
    const T* dy = t_.top_grads[0].template data<T>();
    T* dx = t_.bottom_grads[0].template data<T>();
    const bool reads = rows_.term != ReductionTerm::kValue;
    ParallelFor(rows_.rows * rows_.columns, 8192, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T slope = reads ? SlopeOf(rows_.term, x[i]) : T(1);
        dx[i] = factor * dy[i / rows_.columns] * slope;
      }
    });
  }

 private:
  double Sum(const T* row, int64_t begin, int64_t end) const {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(TermOf(rows_.term, row[i]));
    return sum;
  }

  const ReductionSpec spec_;
  const ReductionRows rows_;
  BlockSum long_row_;
};

DOPPIO_REGISTER_LAYER("Reduction", LayerType{1, 1, 1, 1, false, false, &InferReduction});
DOPPIO_REGISTER_KERNEL({"Reduction", DeviceKind::kCpu, "reference", 0,
                        &MakeForFloat<ReductionKernel>, nullptr});

}  // namespace
}  // namespace doppio

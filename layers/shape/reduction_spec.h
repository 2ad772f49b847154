// What reduction_param says, for kernels of every device.
#ifndef DOPPIO_LAYERS_SHAPE_REDUCTION_SPEC_H_
#define DOPPIO_LAYERS_SHAPE_REDUCTION_SPEC_H_

#include <algorithm>
#include <string>

#include "core/net/run/communicator.h"
#include "core/net/graph/layer.h"
#include "layers/shape/reduction_ops.h"

namespace doppio {

class ReductionSpec {
 public:
  ReductionSpec(const LayerSpec& spec, const Shape& bottom) : param_(spec.param.reduction_param()) {
    if (!bottom.has_axis(param_.axis())) {
      throw spec.Mistake("reduction_param.axis",
                         "axis " + std::to_string(param_.axis()) +
                             " does not exist in the bottom, whose shape is " + bottom.ToString());
    }
    axis_ = bottom.canonical_axis(param_.axis());
    const auto operation = param_.operation();
    rows_.term = operation == ReductionParameter::ASUM    ? ReductionTerm::kMagnitude
                 : operation == ReductionParameter::SUMSQ ? ReductionTerm::kSquare
                                                          : ReductionTerm::kValue;
    rows_.rows = bottom.count(0, axis_);
    rows_.columns = bottom.count(axis_);
    sums_loss_ = axis_ == 0 && !mean() && spec.param.loss_weight_size() > 0 &&
                 spec.param.loss_weight(0) != 0;
  }

  int axis() const { return axis_; }
  const ReductionRows& rows() const { return rows_; }

  // What a row's sum is multiplied by. A sum over the whole batch that is itself a loss is that of
  // the one big batch: the mean over ranks, which is how losses of ranks are put together, then is
  // the sum.
  double Factor(const Pass& pass) const {
    const double coeff = static_cast<double>(param_.coeff());
    if (mean()) return coeff / static_cast<double>(std::max<int64_t>(1, rows_.columns));
    return sums_loss_ && pass.group != nullptr ? coeff * pass.group->size() : coeff;
  }

 private:
  bool mean() const { return param_.operation() == ReductionParameter::MEAN; }

  const ReductionParameter param_;
  int axis_ = 0;
  ReductionRows rows_;
  bool sums_loss_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_REDUCTION_SPEC_H_

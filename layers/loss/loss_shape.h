// Shape inference that losses share: the shape of a loss, and checks of bottoms whose values
// correspond to each other. The shapes of such bottoms may differ after the first axis, as long as
// both have the same number of values per sample.
#ifndef DOPPIO_LAYERS_LOSS_LOSS_SHAPE_H_
#define DOPPIO_LAYERS_LOSS_LOSS_SHAPE_H_

#include <any>
#include <string>
#include <utility>
#include <vector>

#include "core/net/contract/layer.h"
#include "core/tensor/shape.h"

namespace doppio {

// Returns the shape of a layer whose first top is a loss, and whose backward pass does not read the
// tops.
inline LayerShape LossShape(std::any form, std::vector<bool> no_gradient_bottoms) {
  LayerShape shape;
  shape.form = std::move(form);
  shape.tops = {Shape()};
  shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = std::move(no_gradient_bottoms);
  shape.loss = true;
  return shape;
}

// Throws UserError unless bottom `i` has the first extent and the number of values of bottom 0.
// `what` and `first` are the roles of the two bottoms in the error, such as "target" and
// "prediction".
inline void CheckSameValues(const LayerSpec& spec, const std::vector<Shape>& bottoms, int i,
                            const std::string& what, const std::string& first) {
  const Shape& shape = bottoms[i];
  spec.RefuseIf(
      !(shape.count() == bottoms[0].count() && shape.dim_or_1(0) == bottoms[0].dim_or_1(0)),
      {"bottom", i}, what, " '", spec.param.bottom(i), "' is ", shape.ToString(), ", ", first, " '",
      spec.param.bottom(0), "' is ", bottoms[0].ToString(),
      "; they must have the same first extent and the same number of values");
}

// Throws UserError unless bottom `i` has one value for each sample of bottom 0. `what` is its role
// in the error.
inline void CheckOnePerSample(const LayerSpec& spec, const std::vector<Shape>& bottoms, int i,
                              const std::string& what) {
  const Shape& shape = bottoms[i];
  const int64_t samples = bottoms[0].dim_or_1(0);
  spec.RefuseIf(shape.count() != samples, {"bottom", i}, what, " '", spec.param.bottom(i), "' has ",
                shape.count(), " values (", shape.ToString(), "); ", samples,
                " are needed, one per sample of '", spec.param.bottom(0), "' (",
                bottoms[0].ToString(), ")");
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LOSS_SHAPE_H_

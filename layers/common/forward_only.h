// The shapes of layers without backward.
#ifndef DOPPIO_LAYERS_COMMON_FORWARD_ONLY_H_
#define DOPPIO_LAYERS_COMMON_FORWARD_ONLY_H_

#include <any>
#include <utility>
#include <vector>

#include "core/net/contract/layer.h"

namespace doppio {

// Returns the shape of a layer that has no backward.
inline LayerShape ForwardOnly(std::vector<Shape> tops, std::any form = {}) {
  LayerShape shape;
  shape.tops = std::move(tops);
  shape.form = std::move(form);
  shape.has_backward = shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  return shape;
}

// Returns the shape of a layer whose tops are constants for the gradient, such as targets and
// regions, although its bottoms may learn.
inline LayerShape ConstantTops(const LayerSpec& spec, std::vector<Shape> tops, std::any form) {
  LayerShape shape = ForwardOnly(std::move(tops), std::move(form));
  shape.no_gradient_bottoms.assign(static_cast<size_t>(spec.param.bottom_size()), true);
  shape.no_gradient_bottoms_may_learn = true;
  return shape;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_FORWARD_ONLY_H_

// Softmax over an array with channels last, where the axis is the channels: then its classes lie
// side by side, and the positions are in the order of a plain array without the axis, as labels
// are.
#ifndef DOPPIO_LAYERS_ACTIVATION_SOFTMAX_VIEW_CUDA_H_
#define DOPPIO_LAYERS_ACTIVATION_SOFTMAX_VIEW_CUDA_H_

#include "core/net/graph/layer.h"
#include "layers/activation/softmax_math.h"

namespace doppio {

// How softmax wants to have its bottom, and sees it.
struct SoftmaxView {
  Layout layout;
  SoftmaxShape shape;

  SoftmaxView(const LayerSpec& spec, const TensorSpec& bottom)
      : shape(SoftmaxShapeOf(spec, bottom.shape)) {
    if (!bottom.layout.channels_last()) return;
    if (bottom.shape.canonical_axis(spec.param.softmax_param().axis()) != 1) return;
    layout = bottom.layout;
    shape = {shape.positions(), shape.classes, 1};
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_SOFTMAX_VIEW_CUDA_H_

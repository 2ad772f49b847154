// What the kernels of softmax need of the file, and how one on a GPU sees its bottom.
#ifndef DOPPIO_LAYERS_ACTIVATION_SOFTMAX_FORM_H_
#define DOPPIO_LAYERS_ACTIVATION_SOFTMAX_FORM_H_

#include "core/tensor/tensor.h"
#include "layers/activation/softmax_shape.h"

namespace doppio {

struct SoftmaxForm {
  SoftmaxShape shape;  // of the bottom in the plain layout
  int axis = 1;        // counted from the front
};

// With channels last, where the axis is the channels, the classes of a position lie side by side.
// The positions are in the order of a plain array without the axis, as labels are.
struct SoftmaxView {
  Layout layout;  // wanted of the bottom
  SoftmaxShape shape;

  SoftmaxView(const SoftmaxForm& form, const TensorSpec& bottom) : shape(form.shape) {
    if (!bottom.layout.channels_last() || form.axis != 1) return;
    layout = bottom.layout;
    shape = {shape.positions(), shape.classes, 1};
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_SOFTMAX_FORM_H_

// The form of Softmax, and how its GPU kernels see the bottom.
#ifndef DOPPIO_LAYERS_ACTIVATION_SOFTMAX_FORM_H_
#define DOPPIO_LAYERS_ACTIVATION_SOFTMAX_FORM_H_

#include "core/tensor/tensor.h"
#include "layers/activation/softmax_shape.h"

namespace doppio {

struct SoftmaxForm {
  SoftmaxShape shape;  // shape of the bottom in plain layout
  int axis = 1;        // counted from the front
};

// The bottom as a GPU kernel reads it. If the layout is channels last and the axis is the channels,
// the classes of a position are contiguous. Positions have the row-major order of the array without
// the axis, like labels.
struct SoftmaxView {
  Layout layout;  // the layout to request for the bottom
  SoftmaxShape shape;

  SoftmaxView(const SoftmaxForm& form, const TensorSpec& bottom) : shape(form.shape) {
    if (!bottom.layout.channels_last() || form.axis != 1) return;
    layout = bottom.layout;
    shape = {shape.positions(), shape.classes, 1};
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_SOFTMAX_FORM_H_

// The form of Scale and Bias, which their kernels on every device read.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_SCALE_BIAS_FORM_H_
#define DOPPIO_LAYERS_ELEMENTWISE_SCALE_BIAS_FORM_H_

namespace doppio {

// The axes of bottom 0 that the factors span, and where the factors come from.
struct ScaleBiasForm {
  int axis = 0, end = 0;  // axes [axis, end), counted from the front
  // num_axes in the net file: -1 means all axes from `axis` on. Ignored if bottom 1 holds the
  // factors.
  int num_axes = 1;
  int scale_param = -1, bias_param = -1;  // parameter index; -1: not a parameter
  bool scale_bottom = false, bias_bottom = false;
  bool bias_term = false;  // Scale also has a bias

  bool has_scale() const { return scale_bottom || scale_param >= 0; }
  bool has_bias() const { return bias_bottom || bias_param >= 0; }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_SCALE_BIAS_FORM_H_

// What Scale's and Bias's kernels need of the file.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_SCALE_BIAS_FORM_H_
#define DOPPIO_LAYERS_ELEMENTWISE_SCALE_BIAS_FORM_H_

namespace doppio {

// Which axes of bottom 0 the factors span, and where they come from.
struct ScaleBiasForm {
  int axis = 0, end = 0;  // axes [axis, end), counted from the front
  int num_axes = 1;  // as the file says: -1 means all from `axis` on; of no meaning for bottom 1
  int scale_param = -1, bias_param = -1;  // index among the parameters; -1: none there
  bool scale_bottom = false, bias_bottom = false;
  bool bias_term = false;  // Scale learns a bias, too

  bool has_scale() const { return scale_bottom || scale_param >= 0; }
  bool has_bias() const { return bias_bottom || bias_param >= 0; }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_SCALE_BIAS_FORM_H_

// What Scale and Bias layers do to their bottom, the same on every device.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_SCALE_BIAS_FORM_H_
#define DOPPIO_LAYERS_ELEMENTWISE_SCALE_BIAS_FORM_H_

#include <string>
#include <vector>

#include "core/net/spec/spec.h"
#include "core/tensor/shape.h"

namespace doppio {

// Which axes of bottom 0 the factors span, and where they come from.
struct ScaleBiasForm {
  int begin = 0, end = 0;
  int scale_param = -1, bias_param = -1;  // index among the parameters; -1: none there
  bool scale_bottom = false, bias_bottom = false;

  bool has_scale() const { return scale_bottom || scale_param >= 0; }
  bool has_bias() const { return bias_bottom || bias_param >= 0; }
};

// `message` is scale_param or bias_param, whose axis and num_axes mean the same.
template <class Param>
ScaleBiasForm FormOf(const LayerSpec& spec, const std::string& message, const Param& param,
                     const std::vector<Shape>& bottoms) {
  const Shape& shape = bottoms[0];
  ScaleBiasForm form;
  const bool scalar = bottoms.size() == 2 && bottoms[1].rank() == 0;
  if (!scalar && !shape.has_axis(param.axis())) {
    throw spec.Mistake(message + ".axis", "axis " + std::to_string(param.axis()) +
                                              " is outside bottom 0 of shape " + shape.ToString());
  }
  form.begin = scalar ? 0 : shape.canonical_axis(param.axis());
  if (bottoms.size() == 2) {
    form.end = form.begin + bottoms[1].rank();
    bool fits = form.end <= shape.rank();
    for (int i = form.begin; fits && i < form.end; ++i)
      fits = shape[i] == bottoms[1][i - form.begin];
    if (fits) return form;
    throw spec.Mistake("bottom",
                       "bottom 1 of shape " + bottoms[1].ToString() +
                           " does not match bottom 0 of shape " + shape.ToString() + " from axis " +
                           std::to_string(form.begin) + " on",
                       1);
  }
  const int axes = param.num_axes();
  if (axes < -1 || form.begin + axes > shape.rank()) {
    throw spec.Mistake(message + ".num_axes",
                       "num_axes " + std::to_string(axes) + " from axis " +
                           std::to_string(form.begin) + " does not fit bottom 0 of shape " +
                           shape.ToString() + "; -1 means all from there on");
  }
  form.end = axes == -1 ? shape.rank() : form.begin + axes;
  return form;
}

inline ScaleBiasForm FormOf(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const bool learned = bottoms.size() == 1;
  if (spec.type() == "Bias") {
    ScaleBiasForm form = FormOf(spec, "bias_param", spec.param.bias_param(), bottoms);
    form.bias_bottom = !learned;
    form.bias_param = learned ? 0 : -1;
    return form;
  }
  ScaleBiasForm form = FormOf(spec, "scale_param", spec.param.scale_param(), bottoms);
  form.scale_bottom = !learned;
  form.scale_param = learned ? 0 : -1;
  if (spec.param.scale_param().bias_term()) form.bias_param = learned ? 1 : 0;
  return form;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_SCALE_BIAS_FORM_H_

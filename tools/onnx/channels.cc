// Layers that scale and shift channels: BatchNorm, BN, Scale and Bias. A Scale or Bias that is the
// only reader of a BatchNorm is merged into the BatchNorm's node. With fold_bn, all of them are
// folded into the convolution or matrix product before.
#include <cmath>

#include "layers/elementwise/scale_bias_form.h"
#include "layers/normalization/batch_norm_form.h"
#include "layers/normalization/bn_form.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

std::vector<float> Rounded(const std::vector<double>& values) {
  return std::vector<float>(values.begin(), values.end());
}

// (x - mean) / sqrt(variance + eps) * scale + shift, with one value of each vector per channel.
struct Normalization {
  std::vector<double> mean, variance, scale, shift;
  float eps = 0;
};

void AddNormalization(const OnnxLayer& layer, const Normalization& n) {
  layer.spec().RefuseIf(layer.bottom().rank() < 2, "bottom",
                        "ONNX normalises channels in axis 1, the bottom is ",
                        layer.bottom().ToString());
  if (layer.options.fold_bn) {
    std::vector<double> factor, shift;
    for (size_t c = 0; c < n.mean.size(); ++c) {
      factor.push_back(n.scale[c] / std::sqrt(n.variance[c] + static_cast<double>(n.eps)));
      shift.push_back(n.shift[c] - n.mean[c] * factor[c]);
    }
    if (layer.Absorb(factor, shift, true)) return;
  }
  const Shape channels{static_cast<int64_t>(n.mean.size())};
  const auto floats = [&](const std::vector<double>& values) {
    return layer.Floats(channels, Rounded(values));
  };
  layer.SetTop(
      layer.Add("BatchNormalization",
                {layer.in(), floats(n.scale), floats(n.shift), floats(n.mean), floats(n.variance)},
                {{"epsilon", n.eps}}));
}

void AddBatchNorm(const OnnxLayer& layer) {
  const BatchNormForm& form = layer.Form<BatchNormForm>();
  layer.spec().RefuseIf(!form.global, "batch_norm_param.use_global_stats",
                        "normalising by the statistics of the batch has no form in ONNX; remove "
                        "use_global_stats: false");
  const double factor = layer.params.batch_norm_factor();
  Normalization n{layer.params.Values(0), layer.params.Values(1), {}, {}, form.epsilon};
  for (double& mean : n.mean) mean *= factor;
  for (double& variance : n.variance) variance *= factor;
  n.scale.assign(n.mean.size(), 1);
  n.shift.assign(n.mean.size(), 0);
  AddNormalization(layer, n);
}

// Sets the top to in * factor + summand, with broadcasting. "" omits a factor or a summand.
void AddScaled(const OnnxLayer& layer, const std::string& factor, const std::string& summand) {
  std::string value = layer.in();
  if (!factor.empty()) value = layer.Add("Mul", {value, factor});
  if (!summand.empty()) value = layer.Add("Add", {value, summand});
  layer.SetTop(value);
}

// Adds a parameter that spans the axes [begin, end) of the bottom, shaped to broadcast over the
// axes from `end` on.
std::string Spanning(const OnnxLayer& layer, int param, int begin, int end) {
  Shape shape;
  for (int axis = begin; axis < layer.bottom().rank(); ++axis) {
    shape.push_back(axis < end ? layer.bottom()[axis] : 1);
  }
  return shape == layer.params.shape(param) ? layer.params.Constant(param)
                                            : layer.params.Constant(param, shape);
}

void AddBn(const OnnxLayer& layer) {
  const BnForm& form = layer.Form<BnForm>();
  layer.spec().RefuseIf(
      form.normalizes && !form.global, "bn_param",
      "this BN normalises by the statistics of the batch, which has no form in ONNX");
  if (!form.normalizes) {
    AddScaled(layer, Spanning(layer, 0, 1, 2), Spanning(layer, 1, 1, 2));
    return;
  }
  AddNormalization(layer, {layer.params.Values(2), layer.params.Values(3), layer.params.Values(0),
                           layer.params.Values(1), layer.spec().param.bn_param().eps()});
}

// Returns bottom 1, whose axes correspond to the axes [form.axis, form.end) of bottom 0, with
// extents of 1 appended so that it broadcasts against bottom 0.
std::string WideBottom(const OnnxLayer& layer, const ScaleBiasForm& form) {
  std::vector<int64_t> axes;
  for (int axis = form.end; axis < layer.bottom().rank(); ++axis) axes.push_back(axis - form.axis);
  return axes.empty() ? layer.in(1) : layer.Add("Unsqueeze", {layer.in(1), layer.Integers(axes)});
}

void AddScaleOrBias(const OnnxLayer& layer) {
  const ScaleBiasForm& form = layer.Form<ScaleBiasForm>();
  if (layer.bottoms() == 1 && form.axis == 1 && form.end == 2) {
    const size_t channels = layer.bottom()[1];
    const std::vector<double> ones(channels, 1), zeros(channels, 0);
    if (layer.Absorb(form.has_scale() ? layer.params.Values(form.scale_param) : ones,
                     form.has_bias() ? layer.params.Values(form.bias_param) : zeros,
                     layer.options.fold_bn)) {
      return;
    }
  }
  const auto operand = [&](bool from_bottom, int param) {
    if (from_bottom) return WideBottom(layer, form);
    return param < 0 ? std::string() : Spanning(layer, param, form.axis, form.end);
  };
  AddScaled(layer, operand(form.scale_bottom, form.scale_param),
            operand(form.bias_bottom, form.bias_param));
}

DOPPIO_REGISTER(OnnxMappings, "BatchNorm",
                {"BatchNormalization, of the stored statistics", &AddBatchNorm});
DOPPIO_REGISTER(OnnxMappings, "BN",
                {"BatchNormalization, of the stored statistics; SegNet's: Mul, Add", &AddBn});
DOPPIO_REGISTER(OnnxMappings, "Scale",
                {"part of the BatchNormalization that it alone reads, else Unsqueeze, Mul, Add",
                 &AddScaleOrBias});
DOPPIO_REGISTER(OnnxMappings, "Bias",
                {"part of the BatchNormalization that it alone reads, else Unsqueeze, Add",
                 &AddScaleOrBias});

}  // namespace
}  // namespace doppio

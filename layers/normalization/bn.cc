// BN: two layers of forks have this name.
// - TSN, PSPNet and others: blobs slope, bias, running mean and running variance. In training, the
//   layer normalises by the batch's statistics and updates the running ones by `momentum`. In
//   testing, and always if the layer is frozen, it normalises by the running ones.
//   Early files of PSPNet have moving_average: true, scale_filler, shift_filler and decay instead
//   of slope_filler, bias_filler and momentum.
// - SegNet, recognised by its fields (scale_filler, shift_filler, bn_mode): blobs scale and shift.
//   The layer always normalises by the batch's statistics, except with bn_mode INFERENCE, where it
//   does not normalise.
// Both equal BatchNorm followed by Scale, and the kernels of these layers compute them. Only the
// statistics are stored in different places.
#include "core/net/contract/fusion.h"
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/common/host_loops.h"
#include "layers/normalization/bn_kernel.h"

namespace doppio {
namespace {

bool IsSegNetBn(const BNParameter& p) {
  return !p.moving_average() && (p.has_scale_filler() || p.has_shift_filler() || p.has_bn_mode());
}

// Returns bn_param, with the fields of early PSPNet under their present names.
BNParameter ReadBn(const LayerSpec& spec) {
  BNParameter p = spec.param.bn_param();
  spec.RefuseIf(p.has_decay() && !p.moving_average(), "bn_param.decay",
                "decay counts only with moving_average: true");
  if (!p.moving_average()) return p;
  spec.RefuseIf(p.has_bn_mode(), "bn_param.bn_mode",
                "bn_mode is SegNet's, moving_average PSPNet's; keep one");
  if (p.has_scale_filler()) *p.mutable_slope_filler() = p.scale_filler();
  if (p.has_shift_filler()) *p.mutable_bias_filler() = p.shift_filler();
  if (!p.has_momentum()) p.set_momentum(1 - p.decay());
  return p;
}

void CheckBn(const LayerSpec& spec, const BNParameter& p, const Shape& bottom) {
  CheckChannels(spec, bottom);
  spec.RefuseIf(IsSegNetBn(p) && (p.has_slope_filler() || p.has_bias_filler() || p.has_momentum() ||
                                  p.has_frozen()),
                "bn_param",
                "scale_filler, shift_filler and bn_mode are fields of SegNet's BN; slope_filler, "
                "bias_filler, momentum and frozen are fields of PSPNet's; keep those of one");
  spec.RefuseIf(!(p.momentum() >= 0 && p.momentum() <= 1), "bn_param.momentum", "momentum ",
                p.momentum(), " is outside [0, 1]");
  spec.RefuseIf(!(p.eps() > 0), "bn_param.eps", "eps must be positive, found ", p.eps());
}

LayerShape InferPart(const LayerSpec& part, const Shape& bottom) {
  return LayerTypes::Get().Find(part.type())->infer(part, {bottom});
}

// Infers the chain of both layers.
LayerShape InferBnChain(const LayerSpec& norm, const LayerSpec& scale, const Shape& bottom) {
  const LayerShape of_norm = InferPart(norm, bottom), of_scale = InferPart(scale, bottom);
  const std::vector<ChainLink> chain = {
      {norm.type(), &of_norm.form, 0, 1, of_norm.tops},
      {scale.type(), &of_scale.form, 0, 1, of_scale.tops},
  };
  return *FusionTypes::Get().Find(BnForm().inner_type())->infer(chain);
}

// Infers BN without its parameters.
LayerShape InferBnValues(const LayerSpec& spec, const BNParameter& p, const Shape& bottom) {
  const bool segnet = IsSegNetBn(p);
  BnForm form;
  form.keeps_running = !segnet;
  form.global = form.keeps_running && (p.frozen() || spec.phase() == TEST);
  form.normalizes = p.bn_mode() == BNParameter::LEARN;
  form.momentum = p.momentum();

  constexpr float kSegNetEpsilon = 1e-9f;
  LayerSpec norm = spec, scale = spec;
  norm.param.set_type("BatchNorm");
  norm.param.mutable_batch_norm_param()->set_use_global_stats(form.global);
  norm.param.mutable_batch_norm_param()->set_eps(segnet && !p.has_eps() ? kSegNetEpsilon : p.eps());
  scale.param.set_type("Scale");
  scale.param.mutable_scale_param()->set_bias_term(true);
  norm.param.clear_param();
  scale.param.clear_param();

  LayerShape shape = form.normalizes ? InferBnChain(norm, scale, bottom) : InferPart(scale, bottom);
  form.inner = std::move(shape.form);
  shape.form = std::move(form);
  return shape;
}

LayerShape InferBn(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const BNParameter p = ReadBn(spec);
  CheckBn(spec, p, bottoms[0]);
  const bool segnet = IsSegNetBn(p);
  FillerParameter slope = segnet ? p.scale_filler() : p.slope_filler();
  if (!p.has_scale_filler() && !p.has_slope_filler()) slope.set_value(1);
  const FillerParameter& bias = segnet ? p.shift_filler() : p.bias_filler();

  LayerShape shape = InferBnValues(spec, p, bottoms[0]);
  const Shape blob{1, bottoms[0][1], 1, 1};
  shape.params = {{blob, slope, !p.frozen()}, {blob, bias, !p.frozen()}};
  if (segnet) return shape;
  for (int i = 0; i < 2; ++i) shape.params.push_back({blob, FillerParameter(), false});
  constexpr int kVariance = 3;
  if (p.frozen() || spec.phase() == TEST) shape.statistics = {true, kVariance};
  return shape;
}

template <class T>
using Bn = BnKernel<T, HostLoops>;

DOPPIO_REGISTER_LAYER("BN", LayerType(&InferBn).Bottoms(1).Tops(1).DrawnAs("norm").Params(
                                {"weight", "bias", "running_mean", "running_var"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Bn>("BN"));

}  // namespace
}  // namespace doppio

// BN, read from a file. One name, two layers of forks:
// - TSN's, PSPNet's and others': blobs slope, bias, running mean and variance. In training
// statistics
//   are the batch's and the running ones follow by `momentum`; in testing, and always where the
//   layer is frozen, they are the running ones.
// - SegNet's, known by its fields (scale_filler, shift_filler, bn_mode): blobs scale and shift.
//   Statistics are the batch's, always; with bn_mode INFERENCE there are none.
// Either is BatchNorm and Scale (and computed by their kernels), but for where statistics are kept.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BN_FORM_H_
#define DOPPIO_LAYERS_NORMALIZATION_BN_FORM_H_

#include <string>
#include <vector>

#include "core/net/plan/fusion.h"
#include "core/net/graph/layer.h"

namespace doppio {

struct BnForm {
  bool keeps_running = true;  // blobs 2 and 3
  bool frozen = false;
  bool global = false;     // statistics are the running ones
  bool normalizes = true;  // else scale and shift alone
  double momentum = 0;
  FillerParameter slope, bias;
  LayerSpec norm_spec, scale_spec;  // the two layers that compute it
};

inline BnForm ReadBn(const LayerSpec& spec, const Shape& bottom) {
  const BNParameter& p = spec.param.bn_param();
  if (bottom.rank() < 2) {
    throw spec.Mistake("bottom", "bottom 0 has shape " + bottom.ToString() +
                                     "; BN needs at least 2 axes, the second being channels");
  }
  const bool segnet = p.has_scale_filler() || p.has_shift_filler() || p.has_bn_mode();
  if (segnet &&
      (p.has_slope_filler() || p.has_bias_filler() || p.has_momentum() || p.has_frozen())) {
    throw spec.Mistake("bn_param",
                       "scale_filler, shift_filler and bn_mode are of SegNet's BN; slope_filler, "
                       "bias_filler, momentum and frozen of PSPNet's; keep those of one");
  }
  if (!(p.momentum() >= 0 && p.momentum() <= 1)) {
    throw spec.Mistake("bn_param.momentum",
                       "momentum " + std::to_string(p.momentum()) + " is outside [0, 1]");
  }
  if (!(p.eps() > 0)) {
    throw spec.Mistake("bn_param.eps", "eps must be positive, found " + std::to_string(p.eps()));
  }
  BnForm form;
  form.keeps_running = !segnet;
  form.frozen = p.frozen();
  form.global = form.keeps_running && (p.frozen() || spec.phase() == TEST);
  form.normalizes = p.bn_mode() == BNParameter::LEARN;
  form.momentum = p.momentum();
  form.slope = segnet ? p.scale_filler() : p.slope_filler();
  if (!p.has_scale_filler() && !p.has_slope_filler()) form.slope.set_value(1);
  form.bias = segnet ? p.shift_filler() : p.bias_filler();

  constexpr float kSegNetEpsilon = 1e-9f;
  form.norm_spec = form.scale_spec = spec;
  LayerParameter* norm = &form.norm_spec.param;
  norm->set_type("BatchNorm");
  norm->mutable_batch_norm_param()->set_use_global_stats(form.global);
  norm->mutable_batch_norm_param()->set_eps(segnet && !p.has_eps() ? kSegNetEpsilon : p.eps());
  LayerParameter* scale = &form.scale_spec.param;
  scale->set_type("Scale");
  scale->mutable_scale_param()->set_bias_term(true);
  norm->clear_param();
  scale->clear_param();
  return form;
}

// `form` as one chain, or as Scale alone, with the meanings of its layers in `shapes`, which the
// links point into as they do into `form`.
inline std::vector<ChainLink> BnChain(const BnForm& form, const Shape& bottom,
                                      std::vector<LayerShape>* shapes) {
  shapes->clear();
  std::vector<const LayerSpec*> specs{&form.scale_spec};
  if (form.normalizes) specs.insert(specs.begin(), &form.norm_spec);
  for (const LayerSpec* spec : specs) {
    shapes->push_back(LayerTypes::Get().Find(spec->type())->infer(*spec, {bottom}));
  }
  std::vector<ChainLink> chain;
  for (size_t i = 0; i < specs.size(); ++i) chain.push_back({specs[i], &(*shapes)[i], 0});
  return chain;
}
constexpr char kBnChain[] = "BatchNorm+Scale";

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BN_FORM_H_

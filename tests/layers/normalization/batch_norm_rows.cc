// Rows of BatchNorm and BN, with the fields of all forks.
#include <string>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

// Returns true if a batch of the blob has so many values per channel that its statistics mean
// something: the normalised values of one position are 0, those of two are -1 and 1.
bool HasStatistics(const DraftBlob& blob) {
  return blob.shape.count() / blob.shape.dim_or_1(1) >= 4;
}

// Sets eps, which is small only behind statistics of a batch. The running statistics of an
// untrained layer are 0, so it divides by the root of eps.
void DrawEps(NetDraft* draft, bool running, DrawnMessage* fields) {
  if (running) {
    fields->Set("eps", draft->draw().Of<std::string>({"1", "0.5"}));
  } else {
    fields->Maybe("eps", {"1e-5", "0.001", "0.1", "0.1", "1"});
  }
}

// Draws the fields with which forks put a Scale into a BatchNorm, in combinations that do not
// contradict each other.
void DrawScaleOfForks(NetDraft* draft, DrawnMessage* fields) {
  Draw& draw = draft->draw();
  switch (draw.Int(0, 7)) {
    case 0:  // NVCaffe
    case 1:
      fields->Set("scale_bias", true).MaybeFactors("scale_filler", 1).MaybeFiller("bias_filler");
      break;
    case 2:  // NVCaffe: a filler is enough
      fields->Factors("scale_filler", 1).MaybeFiller("bias_filler");
      break;
    case 3:
      fields->Add(draft->Filler("bias_filler", 0.1));
      break;
    case 4:  // Intel
    case 5:
      fields->Set("use_weight_bias", true).MaybeFactors("filler", 1).MaybeBool("bias_term");
      fields->MaybeFiller("bias_filler", 0.1);
      break;
    case 6:  // no Scale, so the filler has no effect
      fields->Set("use_weight_bias", false).MaybeFactors("filler", 1);
      break;
    default:
      fields->Set("scale_bias", false);
  }
}

bool DrawBatchNorm(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draft->Values(1);
  if (!blob) return false;
  DrawnMessage fields(draft);
  const bool global = !HasStatistics(*blob) || draw.Chance(0.15);
  if (global || draw.Chance(0.3)) fields.Set("use_global_stats", global);
  DrawEps(draft, global, &fields);
  fields.Maybe("moving_average_fraction", {"0.999", "0.9", "0.5", "0", "1"});
  fields.Maybe("engine", ForkEngines());
  if (draw.Chance(0.4)) DrawScaleOfForks(draft, &fields);
  if (draw.Chance(0.3)) fields.MaybeBool("relu");
  return draft->Add(
      DrawnLayer("BatchNorm", {blob->name}, fields.In("batch_norm_param"), draw.Chance(0.4)));
}

unsigned BatchNormTraits(const LayerParameter& layer) {
  const BatchNormParameter& param = layer.batch_norm_param();
  const unsigned kinks = param.relu() ? unsigned{LayerRow::kKinks} : 0u;
  return kinks | (param.use_global_stats() ? 0u : LayerRow::kWholeBatch | LayerRow::kState);
}

// Draws the fields of BN in SegNet. Without any of its own, the layer is PSPNet's.
void DrawSegNetBn(NetDraft* draft, const DraftBlob& blob, DrawnMessage* fields) {
  const bool normalizes = HasStatistics(blob) && draft->draw().Chance(0.7);
  fields->MaybeFactors("scale_filler", 1).MaybeFiller("shift_filler", 0.1);
  // The default of eps, 1e-9, makes noise of channels that are constant.
  if (normalizes) fields->Set("eps", draft->draw().Of<std::string>({"1e-5", "0.01", "1"}));
  if (!normalizes || draft->draw().Chance(0.3)) {
    fields->Set("bn_mode", normalizes ? "LEARN" : "INFERENCE");
  }
}

// Draws the fields of BN in early files of PSPNet, whose moving_average renames the fillers.
void DrawEarlyBn(DrawnMessage* fields) {
  fields->Set("moving_average", true).MaybeFactors("scale_filler", 1);
  fields->MaybeFiller("shift_filler", 0.1).Maybe("decay", {"0.05", "0.5", "1"});
}

bool DrawBn(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draft->Values(2);
  if (!blob) return false;
  DrawnMessage fields(draft);
  fields.Maybe("engine", ForkEngines());
  if (draw.Chance(0.35)) {
    DrawSegNetBn(draft, *blob, &fields);
  } else {
    const bool frozen = !HasStatistics(*blob) || draw.Chance(0.15);
    if (frozen || draw.Chance(0.3)) fields.Set("frozen", frozen);
    DrawEps(draft, frozen, &fields);
    if (draw.Chance(0.4)) {
      DrawEarlyBn(&fields);
    } else {
      if (draw.Chance(0.1)) fields.Set("moving_average", false);
      fields.MaybeFactors("slope_filler", 1).MaybeFiller("bias_filler", 0.1);
      fields.Maybe("momentum", {"0.9", "0.5", "0", "1"});
    }
  }
  return draft->Add(DrawnLayer("BN", {blob->name}, fields.In("bn_param"), draw.Chance(0.4)));
}

unsigned BnTraits(const LayerParameter& layer) {
  const BNParameter& param = layer.bn_param();
  if (param.frozen() || param.bn_mode() == BNParameter::INFERENCE) return 0;
  const bool segnet = !param.moving_average() &&
                      (param.has_scale_filler() || param.has_shift_filler() || param.has_bn_mode());
  return LayerRow::kWholeBatch | (segnet ? 0u : unsigned{LayerRow::kState});
}

DOPPIO_REGISTER(LayerRows, "BatchNorm",
                {&DrawBatchNorm,
                 LayerRow::kWholeBatch | LayerRow::kState | LayerRow::kKinks,
                 2,
                 {{"batch_norm_param.stats_batch_size", "infer refuses it"}},
                 LayerRow::kInner,
                 &BatchNormTraits});
DOPPIO_REGISTER(
    LayerRows, "BN",
    {&DrawBn, LayerRow::kWholeBatch | LayerRow::kState, 1, {}, LayerRow::kInner, &BnTraits});

}  // namespace
}  // namespace doppio

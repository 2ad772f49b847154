// Rows of LRN, MVN, Normalize, LayerNorm, GroupNorm and InstanceNorm. Small values of eps are drawn
// only where what is divided by a deviation or a norm is hardly ever constant or zero: it would
// become huge.
#include <cmath>
#include <string>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

bool DrawLrn(NetDraft* draft) {
  const auto blob = draft->Images();
  if (!blob) return false;
  const std::string fields = DrawnMessage(draft)
                                 .Maybe("local_size", {"1", "3", "5", "7", "33"})
                                 .Maybe("alpha", {"1", "0.0001", "0.5", "2"})
                                 .Maybe("beta", {"0.75", "0.5", "1", "0.3"})
                                 .Maybe("norm_region", {"ACROSS_CHANNELS", "WITHIN_CHANNEL"})
                                 .Maybe("k", {"1", "2", "0.5"})
                                 .Maybe("engine", ForkEngines())
                                 .In("lrn_param");
  return draft->Add(DrawnLayer("LRN", {blob->name}, fields, draft->draw().Chance(0.1)));
}

bool DrawMvn(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draft->Values(2);
  if (!blob) return false;
  // A run of few values has no deviation, and one value minus its mean is 0.
  const bool long_channels = blob->shape.count(2) >= 4;
  if (!long_channels && blob->shape.count(1) < 4) return false;
  DrawnMessage fields(draft);
  const bool across = !long_channels || draw.Chance(0.4);
  if (across || draw.Chance(0.3)) fields.Set("across_channels", across);
  const bool scales = draw.Chance(0.7);
  if (!scales || draw.Chance(0.3)) fields.Set("normalize_variance", scales);
  if (scales && !(across && draw.Chance(0.5))) {
    fields.Set("eps", draw.Of<std::string>({"0.1", "0.01", "1"}));
  } else {
    fields.Maybe("eps", {"1e-9", "1e-5"});
  }
  return draft->Add(DrawnLayer("MVN", {blob->name}, fields.In("mvn_param"), draw.Chance(0.2)));
}

bool DrawNormalize(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draft->Values(2);
  if (!blob) return false;
  DrawnMessage fields(draft);
  const bool whole = draw.Chance(0.5);
  if (!whole || draw.Chance(0.3)) fields.Set("across_spatial", whole);
  // The factor that keeps values at unit size.
  const int64_t count = whole ? blob->shape.count(1) : blob->shape[1];
  fields.MaybeBool("channel_shared");
  if (draw.Chance(0.8)) fields.Factors("scale_filler", std::sqrt(static_cast<double>(count)));
  if (!whole || draw.Chance(0.5)) fields.Set("eps", draw.Of<std::string>({"0.01", "0.1", "1"}));
  return draft->Add(
      DrawnLayer("Normalize", {blob->name}, fields.In("norm_param"), draw.Chance(0.1)));
}

// Adds a norm whose parts of `length` values share a mean and a variance. A few values are hardly
// ever far enough from each other for a small eps.
bool AddGroupNorm(NetDraft* draft, const DraftBlob& blob, const std::string& type, int64_t length,
                  const std::string& message, const std::string& fields) {
  Draw& draw = draft->draw();
  DrawnMessage norm(draft);
  norm.Add(fields);
  if (length < 16) {
    norm.Set("eps", draw.Of<std::string>({"0.1", "0.01", "1"}));
  } else {
    norm.Maybe("eps", {"1e-5", "1e-6", "0.001"});
  }
  norm.MaybeBool("scale_term").MaybeBool("bias_term");
  norm.MaybeFactors("scale_filler", 1).MaybeFiller("bias_filler");
  return draft->Add(DrawnLayer(type, {blob.name}, norm.In(message), draw.Chance(0.2)));
}

bool DrawLayerNorm(NetDraft* draft) {
  const auto blob = draft->Values(2);
  if (!blob) return false;
  const int rank = blob->shape.rank();
  const int axis = static_cast<int>(draft->draw().Int(1, rank - 1));
  const std::string fields = DrawnMessage(draft).Axis("axis", axis, rank, rank - 1).fields();
  return AddGroupNorm(draft, *blob, "LayerNorm", blob->shape.count(axis), "layer_norm_param",
                      fields);
}

bool DrawGroupNorm(NetDraft* draft) {
  const auto blob = draft->Values(2);
  if (!blob) return false;
  const int64_t channels = blob->shape[1];
  int64_t groups = draft->draw().Of<int64_t>({1, 2, 3, 4, 8, channels});
  if (channels % groups != 0) groups = 1;
  const std::string fields = DrawnMessage(draft).Set("groups", groups).fields();
  return AddGroupNorm(draft, *blob, "GroupNorm", blob->shape.count(1) / groups, "group_norm_param",
                      fields);
}

bool DrawInstanceNorm(NetDraft* draft) {
  const auto blob = draft->Values(3);
  if (!blob || blob->shape.count(2) < 4) return false;
  return AddGroupNorm(draft, *blob, "InstanceNorm", blob->shape.count(2), "instance_norm_param",
                      "");
}

DOPPIO_REGISTER(LayerRows, "LayerNorm", {&DrawLayerNorm});
DOPPIO_REGISTER(LayerRows, "GroupNorm", {&DrawGroupNorm});
DOPPIO_REGISTER(LayerRows, "InstanceNorm", {&DrawInstanceNorm});
DOPPIO_REGISTER(LayerRows, "LRN", {&DrawLrn});
DOPPIO_REGISTER(LayerRows, "MVN", {&DrawMvn});
DOPPIO_REGISTER(LayerRows, "Normalize", {&DrawNormalize});

}  // namespace
}  // namespace doppio

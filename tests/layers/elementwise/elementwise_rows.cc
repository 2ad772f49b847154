// Rows of Eltwise, Axpy and Mixup.
#include <string>
#include <vector>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

// Returns two to four blobs of the shape of a drawn one, some of which may be the same. Returns
// none if the draft has no values.
std::vector<DraftBlob> DrawTerms(NetDraft* draft) {
  const auto first = AnyDrawnValues(draft);
  if (!first) return {};
  std::vector<DraftBlob> terms = {*first};
  const int64_t count = draft->draw().Chance(0.7) ? 2 : draft->draw().Int(3, 4);
  while (static_cast<int64_t>(terms.size()) < count) {
    const auto other = draft->SameShape(*first);
    terms.push_back(other ? *other : *first);
  }
  return terms;
}

// Keeps a product of the terms from growing: squashes all but the first, or, for a gradient that
// divides by the terms, moves all of them away from 0. Returns false if the draft refuses a layer.
bool PrepareFactors(NetDraft* draft, bool divides, std::vector<DraftBlob>* terms) {
  for (size_t i = divides ? 0 : 1; i < terms->size(); ++i) {
    DraftBlob& term = (*terms)[i];
    const auto prepared = divides ? SquashedInto(draft, term, 0.4, 1.5) : Squashed(draft, term);
    if (!prepared) return false;
    term = *prepared;
  }
  return true;
}

bool DrawEltwise(NetDraft* draft) {
  Draw& draw = draft->draw();
  std::vector<DraftBlob> terms = DrawTerms(draft);
  if (terms.empty()) return false;
  DrawnMessage fields(draft);
  const std::string operation = draw.Of<std::string>({"SUM", "SUM", "MAX", "PROD"});
  if (operation != "SUM" || draw.Chance(0.5)) fields.Set("operation", operation);
  if (operation != "PROD" && draw.Chance(operation == "SUM" ? 0.5 : 0.1)) {
    for (size_t i = 0; i < terms.size(); ++i) {
      fields.Set("coeff", draw.Chance(0.3) ? 1 : draw.Real(-1, 1));
    }
  }
  const bool divides = operation == "PROD" && draw.Chance(0.3);
  if (divides || draw.Chance(0.3)) fields.Set("stable_prod_grad", !divides);
  fields.Maybe("engine", ForkEngines());
  if (operation == "PROD" && !PrepareFactors(draft, divides, &terms)) return false;
  std::vector<std::string> bottoms;
  for (const DraftBlob& term : terms) bottoms.push_back(term.name);
  return draft->Add(DrawnLayer("Eltwise", bottoms, fields.In("eltwise_param"), draw.Chance(0.3)));
}

unsigned EltwiseTraits(const LayerParameter& layer) {
  return layer.eltwise_param().operation() == EltwiseParameter::MAX ? unsigned{LayerRow::kKinks}
                                                                    : 0u;
}

// Returns one factor in (-1, 1) per sample and channel of `blob`.
std::optional<DraftBlob> ChannelFactors(NetDraft* draft, const DraftBlob& blob) {
  std::optional<DraftBlob> means = blob;
  if (blob.shape.rank() == 4 && draft->draw().Chance(0.7)) {
    means = AddDrawn(draft, DrawnLayer("Pooling", {blob.name},
                                       "pooling_param { pool: AVE global_pooling: true }"));
  } else if (blob.shape.rank() > 2) {
    means = AddDrawn(
        draft, DrawnLayer("Reduction", {blob.name}, "reduction_param { operation: MEAN axis: 2 }"));
  }
  if (!means || draft->draw().Chance(0.5)) return means ? Squashed(draft, *means) : means;
  means = Projected(draft, *means, blob.shape[1]);
  return means ? Squashed(draft, *means) : means;
}

bool DrawAxpy(NetDraft* draft) {
  const auto x = draft->Values(2);
  if (!x) return false;
  const auto factors = ChannelFactors(draft, *x);
  if (!factors) return false;
  const auto y = draft->SameShape(*x);
  return draft->Add(DrawnLayer("Axpy", {factors->name, x->name, y ? y->name : x->name}));
}

bool DrawMixup(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draft->Values(1);
  if (!blob) return false;
  const int64_t classes = draw.Of<int64_t>({2, 3, 5, 10, 17});
  const DraftBlob labels = draft->Labels(classes);
  DrawnMessage fields(draft);
  fields.Set("classes", classes + (draw.Chance(0.2) ? 1 : 0));
  if (draft->batch() % 2 != 0) {
    fields.Set("alpha", 0);  // only pairs can be mixed
  } else {
    fields.Maybe("alpha", {"0", "0.2", "1", "5"});
    if (blob->shape.rank() == 4) fields.Maybe("cutmix_alpha", {"0", "0.2", "1", "5"});
    fields.MaybeReal("switch_prob", 0, 1);
  }
  if (draw.Chance(0.3)) {
    fields.MaybeReal(draw.Chance(0.5) ? "label_smoothing" : "label_threshold", 0, 0.5);
  }
  NetDraft::Layer layer = DrawnLayer("Mixup", {blob->name, labels.name}, fields.In("mixup_param"));
  layer.tops = 2;
  return draft->Add(layer);
}

unsigned MixupTraits(const LayerParameter& layer) {
  const MixupParameter& param = layer.mixup_param();
  const bool mixes = param.alpha() > 0 || param.cutmix_alpha() > 0;
  // The oracle takes all samples of TRAIN for mixed ones, and their labels for shares.
  const bool plain = param.alpha() > 0 && param.cutmix_alpha() <= 0 &&
                     !param.has_label_smoothing() && !param.has_label_threshold();
  return (mixes ? LayerRow::kWholeBatch | LayerRow::kRandom : 0u) |
         (plain ? 0u : unsigned{LayerRow::kNoOracle});
}

DOPPIO_REGISTER(LayerRows, "Eltwise",
                {&DrawEltwise, LayerRow::kKinks, 2, {}, LayerRow::kInner, &EltwiseTraits});
DOPPIO_REGISTER(LayerRows, "Axpy", {&DrawAxpy});
DOPPIO_REGISTER(LayerRows, "Mixup",
                {&DrawMixup,
                 LayerRow::kWholeBatch | LayerRow::kRandom | LayerRow::kNoOracle,
                 0.4,
                 {},
                 LayerRow::kInner,
                 &MixupTraits});

}  // namespace
}  // namespace doppio

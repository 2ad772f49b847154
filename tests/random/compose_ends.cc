// The ends of random nets: losses, scores, and blobs that no layer reads.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/random/compose.h"
#include "tests/random/draft_flow.h"

namespace doppio {
namespace {

// Adds an InnerProduct of the blob's values and returns its top, or nothing if the draft refuses
// the layer.
std::optional<DraftBlob> AddProduct(const DraftBlob& blob, int64_t outputs, NetDraft* draft) {
  const double size = 1 / std::sqrt(static_cast<double>(blob.shape.count(1)));
  NetDraft::Layer product;
  product.type = "InnerProduct";
  product.bottoms = {blob.name};
  product.fields = "inner_product_param { num_output: " + std::to_string(outputs) + " " +
                   draft->Filler("weight_filler", size) + " }";
  if (!draft->Add(product)) return std::nullopt;
  return draft->tops()[0];
}

// Adds a loss that any net can have: the squared distance of values from given numbers. Adds
// parameters before it if the net has no values that learn and the plan allows the layer.
void AddPlainLoss(const NetPlan& plan, NetDraft* draft) {
  const bool any_type = plan.types.empty() || plan.types.count("InnerProduct") > 0;
  draft->Begin("EuclideanLoss");
  auto blob = draft->Values(2);
  if (!blob || (!blob->learns && !any_type)) return;
  if (!blob->learns) {
    blob = AddProduct(*blob, 3, draft);
    if (!blob) return;
  }
  Extra targets;
  targets.sample.assign(blob->shape.dims().begin() + 1, blob->shape.dims().end());
  NetDraft::Layer loss;
  loss.type = "EuclideanLoss";
  loss.bottoms = {blob->name, draft->Numbers(targets).name};
  draft->Add(loss);
}

// Lets the new layers from number `first` on belong only to one phase.
void LimitTo(Phase phase, int first, NetDraft* draft) {
  draft->Change([&](NetParameter* net) {
    for (int i = first; i < net->layer_size(); ++i) {
      LayerParameter* layer = net->mutable_layer(i);
      if (!NetDraft::IsStandIn(*layer) && layer->include_size() + layer->exclude_size() == 0)
        layer->add_include()->set_phase(phase);
    }
  });
}

// Lets rows draw `count` layers, each with probability `limited` only for one phase. Rows may add
// further layers between the net and theirs.
void DrawEnds(const NetPlan& plan, LayerRow::Place place, int count, Phase phase, double limited,
              NetDraft* draft) {
  const std::vector<std::string> types = TypesAt(place, plan);
  for (int added = 0, tries = 0; !types.empty() && added < count && tries < 15 * count; ++tries) {
    added += DrawWithin(plan, draft, [&] {
      const int first = draft->net().layer_size();
      const bool drawn = DrawLayer(types, draft);
      if (drawn && draft->draw().Chance(limited)) LimitTo(phase, first, draft);
      return drawn;
    });
  }
}

// Returns the blobs that learn and that no layer passes a gradient, although a loss may depend on
// them.
std::vector<DraftBlob> OpenEnds(const NetDraft& draft) {
  std::vector<DraftBlob> ends;
  for (const DraftBlob& blob : draft.blobs()) {
    if (blob.open && !blob.score && blob.filter.empty()) ends.push_back(blob);
  }
  return ends;
}

// Joins most open ends to one blob, so that a loss can depend on all of them.
bool JoinEnds(NetDraft* draft) {
  Draw& draw = draft->draw();
  std::vector<DraftBlob> ends;
  for (const DraftBlob& end : OpenEnds(*draft)) {
    if (end.rows && end.kind == BlobKind::kValues && end.shape.rank() >= 2 && draw.Chance(0.95))
      ends.push_back(end);
  }
  if (ends.size() < 2) return false;
  NetDraft::Layer join;
  const bool sums = draw.Chance(0.5);
  const int64_t outputs = draw.Int(1, 5);
  for (const DraftBlob& end : ends) {
    const bool fits = end.shape.rank() == 2 && (sums ? end.shape[1] == outputs : end.shape[1] <= 8);
    const auto top = fits ? end : AddProduct(end, outputs, draft);
    if (top) join.bottoms.push_back(top->name);
  }
  join.type = sums ? "Eltwise" : "Concat";
  return join.bottoms.size() >= 2 && draft->Add(join);
}

// Lets most open ends add to the loss by themselves.
void WeighEnds(NetDraft* draft) {
  for (const DraftBlob& end : OpenEnds(*draft)) {
    if (end.kind != BlobKind::kValues || draft->draw().Chance(0.1)) continue;
    for (int i = draft->net().layer_size() - 1; i >= 0; --i) {
      const auto& tops = draft->net().layer(i).top();
      const auto top = std::find(tops.begin(), tops.end(), end.name);
      if (top == tops.end()) continue;
      WeighTop(i, static_cast<int>(top - tops.begin()), draft);
      break;
    }
  }
}

void AddLosses(const NetPlan& plan, NetDraft* draft) {
  if (plan.learning == NetPlan::kWithoutLoss) return;
  draft->set_prefers_learning(true);
  if (plan.types.empty()) DrawWithin(plan, draft, [&] { return JoinEnds(draft); });
  DrawEnds(plan, LayerRow::kLoss, plan.losses, TRAIN, 0.08, draft);
  const bool learns = plan.learning == NetPlan::kSome;
  for (int tries = 0; learns && !Learns(draft->graph()) && tries < 5; ++tries)
    AddPlainLoss(plan, draft);
  if ((plan.avoided & LayerRow::kWholeBatch) == 0) WeighEnds(draft);
  draft->set_prefers_learning(false);
}

// Adds Silence layers for some of the blobs that no layer reads, usually for large ones, and for
// all blobs whose number of rows varies.
void AddSilences(NetDraft* draft) {
  NetDraft::Layer rest;
  rest.type = "Silence";
  rest.tops = 0;
  const std::vector<DraftBlob> blobs = draft->blobs();
  for (const DraftBlob& blob : blobs) {
    if (blob.read || blob.score || blob.extra) continue;
    if (blob.filter.empty()) {
      if (draft->draw().Chance(blob.shape.count() > 40 ? 0.75 : 0.3))
        rest.bottoms.push_back(blob.name);
      continue;
    }
    NetDraft::Layer alone = rest;
    alone.bottoms = {blob.name};
    draft->Add(alone);
  }
  if (!rest.bottoms.empty()) draft->Add(rest);
}

}  // namespace

void AddEnds(const NetPlan& plan, NetDraft* draft) {
  AddLosses(plan, draft);
  DrawEnds(plan, LayerRow::kScore, plan.scores, TEST, 0.6, draft);
  AddSilences(draft);
  if (plan.learning == NetPlan::kFrozen) FreezeParameters(draft);
}

}  // namespace doppio

// Lets a row draw a layer, and changes the layer in ways that all layers have.
#include <algorithm>

#include "tests/random/compose.h"

namespace doppio {
namespace {

// Returns how often a row is drawn.
double WeightOf(const std::string& type) { return LayerRows::Get().Find(type)->weight; }

std::string DrawType(const std::vector<std::string>& types, Draw* draw) {
  double sum = 0;
  for (const std::string& type : types) sum += WeightOf(type);
  double left = draw->Real(0, sum);
  for (const std::string& type : types) {
    left -= WeightOf(type);
    if (left < 0) return type;
  }
  return types.back();
}

// Gives top 0 of the last layer the name of bottom 0, if kernels can compute the layer in place.
void PutInPlace(NetDraft* draft) {
  const Graph& graph = draft->graph();
  const int last = draft->net().layer_size() - 1;
  const LayerParameter& layer = draft->net().layer(last);
  const auto node =
      std::find_if(graph.spec.layers.begin(), graph.spec.layers.end(),
                   [&](const LayerSpec& spec) { return spec.name() == layer.name(); });
  if (node == graph.spec.layers.end() || layer.bottom_size() == 0 || layer.top_size() != 1 ||
      layer.top(0) == layer.bottom(0))
    return;
  if (!graph.nodes[static_cast<size_t>(node - graph.spec.layers.begin())].shape.in_place_ok) return;
  const std::string bottom = layer.bottom(0);
  const auto own = [&](const DraftBlob& blob) {
    return blob.name == bottom && !blob.extra && blob.kind == BlobKind::kValues;
  };
  const auto& blobs = draft->blobs();
  if (std::none_of(blobs.begin(), blobs.end(), own)) return;
  draft->Change([&](NetParameter* net) { net->mutable_layer(last)->set_top(0, bottom); });
}

// Sets random gradients of the bottoms: needed, not needed, or cut.
void DrawPropagation(int index, NetDraft* draft) {
  std::vector<bool> flags;
  for (int i = 0; i < draft->net().layer(index).bottom_size(); ++i)
    flags.push_back(draft->draw().Chance(0.6));
  draft->Change([&](NetParameter* net) {
    LayerParameter* layer = net->mutable_layer(index);
    if (layer->propagate_down_size() > 0) return;
    for (bool flag : flags) layer->add_propagate_down(flag);
  });
}

void DrawLossWeights(int index, NetDraft* draft) {
  Draw& draw = draft->draw();
  const LayerParameter& layer = draft->net().layer(index);
  if (layer.loss_weight_size() > 0 || layer.top_size() == 0) return;
  const LayerRow* row = LayerRows::Get().Find(layer.type());
  const bool loss = row != nullptr && row->place == LayerRow::kLoss;
  if (!draw.Chance(loss ? 0.5 : 0.02)) return;
  std::vector<double> weights = {draw.Of<double>({1, 0.5, 0.25, 0.1, 0.01, 2, 0})};
  if (!loss) weights[0] = draw.Of<double>({0.01, 0.001});
  while (static_cast<int>(weights.size()) < layer.top_size())
    weights.push_back(draw.Chance(0.3) ? 0.01 : 0);
  draft->Change([&](NetParameter* net) {
    for (double weight : weights)
      net->mutable_layer(index)->add_loss_weight(static_cast<float>(weight));
  });
}

// Leaves out the only top of a loss that no layer reads, because the graph adds it.
void DrawAutomaticTop(int index, NetDraft* draft) {
  const LayerParameter& layer = draft->net().layer(index);
  const LayerType* type = LayerTypes::Get().Find(layer.type());
  if (type == nullptr || !type->auto_top || layer.top_size() != 1 || !draft->draw().Chance(0.1))
    return;
  draft->Change([&](NetParameter* net) { net->mutable_layer(index)->clear_top(); });
}

}  // namespace

bool DrawLayer(const std::vector<std::string>& types, NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::string type = DrawType(types, &draw);
  const LayerRow& row = *LayerRows::Get().Find(type);
  const int first = draft->net().layer_size();
  draft->Begin(type);
  const bool drawn = row.draw(draft);
  if (draft->net().layer_size() == first) return drawn;
  const int last = draft->net().layer_size() - 1;
  if (draw.Chance(0.3)) PutInPlace(draft);
  for (int i = first; i <= last; ++i) {
    if (NetDraft::IsStandIn(draft->net().layer(i))) continue;
    if (draw.Chance(0.35)) DrawMultipliers(i, draft);
    if (draw.Chance(0.03)) DrawPropagation(i, draft);
    DrawLossWeights(i, draft);
    DrawAutomaticTop(i, draft);
  }
  return drawn;
}

bool WeighTop(int index, int top, NetDraft* draft) {
  const LayerParameter& layer = draft->net().layer(index);
  if (top >= layer.top_size() || (top < layer.loss_weight_size() && layer.loss_weight(top) != 0))
    return false;
  const auto weight = draft->draw().Of<float>({0.01F, 0.003F, 0.001F});
  return draft->Change([&](NetParameter* net) {
    LayerParameter* changed = net->mutable_layer(index);
    while (changed->loss_weight_size() < changed->top_size()) changed->add_loss_weight(0);
    changed->set_loss_weight(top, weight);
  });
}

}  // namespace doppio

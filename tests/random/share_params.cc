// The parameters of random nets: which layers share them, and their multipliers.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/net/spec/prototxt.h"
#include "core/net/spec/split_layer.h"
#include "tests/random/compose.h"

namespace doppio {
namespace {

// Returns the nodes of a layer of the file: several if the layer is split, none if it is not in
// TRAIN.
std::vector<int> NodesOf(const Graph& graph, const LayerParameter& layer) {
  LayerSpec spec;
  spec.param = layer;
  std::set<std::string> names;
  for (const LayerSpec& part : SplitLayer(spec)) names.insert(part.name());
  std::vector<int> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (names.count(graph.spec.layers[n].name()) > 0) nodes.push_back(static_cast<int>(n));
  }
  return nodes;
}

int CountParameters(const NetDraft& draft, const LayerParameter& layer) {
  int count = 0;
  for (int node : NodesOf(draft.graph(), layer))
    count += static_cast<int>(draft.graph().nodes[static_cast<size_t>(node)].params.size());
  return count;
}

// Returns entry `index` of a layer's `param`, and adds those before it.
ParamSpec* ParamAt(LayerParameter* layer, int index) {
  while (layer->param_size() <= index) layer->add_param();
  return layer->mutable_param(index);
}

// A layer whose parameters may be shared: one node in both phases. Statistics are not shared,
// because their values would depend on the order of the layers.
struct Owner {
  int layer = 0, node = 0;
  std::vector<int> params;  // indices of the parameters that can learn
};

std::vector<Owner> OwnersOf(const NetDraft& draft) {
  std::vector<Owner> owners;
  for (int i = 0; i < draft.net().layer_size(); ++i) {
    const LayerParameter& layer = draft.net().layer(i);
    if (layer.include_size() + layer.exclude_size() > 0) continue;
    const std::vector<int> nodes = NodesOf(draft.graph(), layer);
    if (nodes.size() != 1) continue;
    Owner owner = {i, nodes[0], {}};
    const std::vector<int>& params = draft.graph().nodes[static_cast<size_t>(nodes[0])].params;
    for (size_t index = 0; index < params.size(); ++index) {
      if (draft.graph().params[static_cast<size_t>(params[index])].trainable)
        owner.params.push_back(static_cast<int>(index));
    }
    if (!owner.params.empty()) owners.push_back(owner);
  }
  return owners;
}

// Returns a name that no parameter has.
std::string NewShareName(const NetParameter& net) {
  std::set<std::string> names;
  for (const LayerParameter& layer : net.layer()) {
    for (const ParamSpec& param : layer.param()) names.insert(param.name());
  }
  for (int i = 1;; ++i) {
    const std::string name = "shared" + std::to_string(i);
    if (names.count(name) == 0) return name;
  }
}

// Returns bottoms for a copy of the owner: a blob of the shape that its first bottom has, and its
// other bottoms. Returns none if the draft has no such blobs.
std::vector<std::string> BottomsOfCopy(const Owner& owner, NetDraft* draft) {
  const Graph& graph = draft->graph();
  const LayerParameter& layer = draft->net().layer(owner.layer);
  const std::vector<int>& edges = graph.nodes[static_cast<size_t>(owner.node)].bottoms;
  if (edges.empty()) return {};
  std::vector<std::string> bottoms(layer.bottom().begin(), layer.bottom().end());
  const auto is_same = [&](const DraftBlob& blob, size_t i) {
    const int edge = graph.FindEdge(blob.name);
    return blob.name == bottoms[i] && edge == edges[i];
  };
  for (size_t i = 1; i < bottoms.size(); ++i) {
    const auto& blobs = draft->blobs();
    const auto same = [&](const DraftBlob& blob) { return is_same(blob, i); };
    if (std::none_of(blobs.begin(), blobs.end(), same)) return {};
  }
  draft->Begin(layer.type());
  const Shape& shape = graph.edges[static_cast<size_t>(edges[0])].shape;
  // Layers that read no values (Embed) read the same blob again.
  const auto blob = draft->Find([&](const DraftBlob& other) {
    return is_same(other, 0) || (other.kind == BlobKind::kValues && other.shape == shape);
  });
  if (!blob) return {};
  bottoms[0] = blob->name;
  return bottoms;
}

// Adds a copy of a layer on other blobs, which shares most of its parameters.
bool AddCopy(const Owner& owner, NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::vector<std::string> bottoms = BottomsOfCopy(owner, draft);
  if (bottoms.empty()) return false;
  const int always = draw.Of(owner.params);
  LayerParameter whole = draft->net().layer(owner.layer);
  for (int i : owner.params) {
    if (i != always && draw.Chance(0.2)) continue;
    ParamSpec* param = ParamAt(&whole, i);
    NetParameter named = draft->net();
    *named.mutable_layer(owner.layer) = whole;
    if (param->name().empty()) param->set_name(NewShareName(named));
    if (draw.Chance(0.3))
      param->set_share_mode(draw.Chance(0.5) ? ParamSpec::STRICT : ParamSpec::PERMISSIVE);
  }
  const auto name = [&](NetParameter* net) {
    *net->mutable_layer(owner.layer)->mutable_param() = whole.param();
  };
  if (!draft->Change(name)) return false;
  NetDraft::Layer copy;
  copy.type = whole.type();
  copy.bottoms = bottoms;
  copy.tops = whole.top_size();
  whole.clear_name();
  whole.clear_type();
  whole.clear_bottom();
  whole.clear_top();
  whole.clear_loss_weight();
  whole.clear_propagate_down();
  copy.fields = ToPrototxt(whole);
  return draft->Add(copy);
}

// Lets a parameter of `later` share that of `earlier`, if both have as many values.
bool Join(const Owner& earlier, const Owner& later, NetDraft* draft) {
  const Graph& graph = draft->graph();
  const Node &a = graph.nodes[static_cast<size_t>(earlier.node)],
             &b = graph.nodes[static_cast<size_t>(later.node)];
  for (int i : earlier.params) {
    for (int j : later.params) {
      const Shape &from = a.param_shapes[static_cast<size_t>(i)],
                  &to = b.param_shapes[static_cast<size_t>(j)];
      if (a.params[static_cast<size_t>(i)] == b.params[static_cast<size_t>(j)] ||
          from.count() != to.count())
        continue;
      LayerParameter owner = draft->net().layer(earlier.layer),
                     user = draft->net().layer(later.layer);
      ParamSpec *first = ParamAt(&owner, i), *second = ParamAt(&user, j);
      if (!second->name().empty()) continue;
      if (first->name().empty()) first->set_name(NewShareName(draft->net()));
      second->set_name(first->name());
      if (from != to) second->set_share_mode(ParamSpec::PERMISSIVE);
      const auto share = [&](NetParameter* net) {
        *net->mutable_layer(earlier.layer) = owner;
        *net->mutable_layer(later.layer) = user;
      };
      if (draft->Change(share)) return true;
    }
  }
  return false;
}

}  // namespace

bool ShareParameters(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::vector<Owner> owners = OwnersOf(*draft);
  if (owners.empty()) return false;
  if (owners.size() > 1 && draw.Chance(0.3)) {
    const auto later = static_cast<size_t>(draw.Int(1, static_cast<int64_t>(owners.size()) - 1));
    const auto earlier = static_cast<size_t>(draw.Int(0, static_cast<int64_t>(later) - 1));
    if (Join(owners[earlier], owners[later], draft)) return true;
  }
  for (int tries = 0; tries < 4; ++tries) {
    if (AddCopy(draw.Of(owners), draft)) return true;
  }
  return false;
}

void DrawMultipliers(int index, NetDraft* draft) {
  const LayerParameter& layer = draft->net().layer(index);
  const int count = CountParameters(*draft, layer);
  if (count == 0 || layer.param_size() > 0) return;
  Draw& draw = draft->draw();
  LayerParameter given;
  const int64_t entries = draw.Int(1, count);
  for (int64_t i = 0; i < entries; ++i) {
    ParamSpec* param = given.add_param();
    const double rate = draw.Of<double>({-1, 1, 1, 2, 0.5, 0}),
                 decay = draw.Of<double>({-1, 1, 0, 2});
    if (rate >= 0) param->set_lr_mult(static_cast<float>(rate));
    if (decay >= 0) param->set_decay_mult(static_cast<float>(decay));
  }
  draft->Change([&](NetParameter* net) { net->mutable_layer(index)->MergeFrom(given); });
}

void FreezeParameters(NetDraft* draft) {
  std::vector<int> counts;
  for (const LayerParameter& layer : draft->net().layer())
    counts.push_back(CountParameters(*draft, layer));
  draft->Change([&](NetParameter* net) {
    for (int i = 0; i < net->layer_size(); ++i) {
      LayerParameter* layer = net->mutable_layer(i);
      if (counts[static_cast<size_t>(i)] > 0) ParamAt(layer, counts[static_cast<size_t>(i)] - 1);
      for (ParamSpec& param : *layer->mutable_param()) param.set_lr_mult(0);
    }
  });
}

}  // namespace doppio

#include "tests/random/net_draft.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/net/graph/varying_rows.h"
#include "core/net/spec/prototxt.h"
#include "tests/random/draft_flow.h"

namespace doppio {
namespace {

// Begins the names of the layers that read blobs of a Filter for the time being. The graph refuses
// such blobs as outputs, and the next layer may be their reader.
constexpr char kReader[] = "(reader) ";

// Limits of a net that trains in a fraction of a second, even with the reference kernels.
constexpr int64_t kMostElements = 40000;    // of a blob
constexpr int64_t kMostWeights = 200000;    // of all parameters together
constexpr int64_t kMostProducts = 6000000;  // of a forward pass

bool IsTooLarge(const Graph& graph) {
  int64_t weights = 0, products = 0;
  for (const GraphParam& param : graph.params) weights += param.shape.count();
  for (const Node& node : graph.nodes) products += node.shape.macs;
  return weights > kMostWeights || products > kMostProducts ||
         std::any_of(graph.edges.begin(), graph.edges.end(),
                     [](const Edge& edge) { return edge.shape.count() > kMostElements; });
}

bool IsRead(const Graph& graph, int edge) {
  const std::vector<Use>& uses = graph.edges[edge].uses;
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
    return graph.layer(use.node).name().rfind(kReader, 0) != 0;
  });
}

bool IsScoringType(const std::string& type) {
  const LayerType* known = LayerTypes::Get().Find(type);
  return known != nullptr && known->scores;
}

}  // namespace

// The graphs of a net, or why it has none.
struct NetDraft::Phases {
  Graph train, test;
  DraftFlow flow;            // of `train`
  std::vector<int> filters;  // of each edge of `train`: the node of its Filter, or -1
  std::string refusal;
  bool too_large = false;
  bool valid() const { return refusal.empty() && !too_large; }
};

Graph GraphInPhase(const NetParameter& net, Phase phase) {
  NetState state = net.state();
  state.set_phase(phase);
  if (phase == TRAIN) state.set_level(0);  // the default of --level counts, as in Caffe
  NetOptions options;
  options.phase = phase;
  options.data = DataMode::kAssume;
  options.seed = 1;
  return MakeGraph(MakeNetSpec(net, FieldPlaces(), state, options));
}

NetDraft::NetDraft(Draw* draw, int64_t batch, int64_t test_batch)
    : draw_(draw), batch_(batch), test_batch_(test_batch) {}

std::string NetDraft::NewName(const std::string& type) const {
  std::string name = prefix_;
  for (char c : type) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name + std::to_string(net_.layer_size());
}

LayerParameter NetDraft::Proposed(const Layer& layer) const {
  LayerParameter param;
  ParseText(layer.fields, "the fields of " + layer.type, &param);
  param.set_name(NewName(layer.type));
  param.set_type(layer.type);
  for (const std::string& bottom : layer.bottoms) param.add_bottom(bottom);
  for (int i = 0; i < layer.tops; ++i) {
    const bool in_place = layer.in_place && i == 0;
    const std::string own = param.name() + (layer.tops > 1 ? "_" + std::to_string(i) : "");
    param.add_top(in_place ? layer.bottoms[0] : own);
  }
  return param;
}

// Returns the blobs of a layer before the graph is known. A blob that may belong to a Filter has
// any name of a filter.
std::vector<DraftBlob> NetDraft::NewBlobs(const Layer& layer, const LayerParameter& param) const {
  const bool scores = IsScoringType(layer.type);
  const bool varies = layer.type == "Filter" ||
                      std::any_of(blobs_.begin(), blobs_.end(), [&](const DraftBlob& blob) {
                        const auto& names = layer.bottoms;
                        return !blob.filter.empty() &&
                               std::find(names.begin(), names.end(), blob.name) != names.end();
                      });
  std::vector<DraftBlob> blobs;
  for (int i = 0; i < param.top_size(); ++i) {
    DraftBlob blob;
    blob.name = param.top(i);
    blob.score = scores;
    blob.kind = scores ? BlobKind::kOther : BlobKind::kValues;
    if (static_cast<size_t>(i) < layer.kinds.size())
      blob.kind = layer.kinds[static_cast<size_t>(i)];
    blob.classes = layer.classes;
    blob.filter = varies ? param.name() : "";
    blobs.push_back(blob);
  }
  return blobs;
}

NetDraft::Phases NetDraft::Build(NetParameter net, const std::vector<DraftBlob>& blobs) {
  for (const DraftBlob& blob : blobs) {
    if (blob.filter.empty()) continue;
    LayerParameter* reader = net.add_layer();
    reader->set_name(kReader + blob.name);
    reader->set_type("Silence");
    reader->add_bottom(blob.name);
  }
  Phases phases;
  try {
    phases.train = GraphInPhase(net, TRAIN);
    phases.test = GraphInPhase(net, TEST);
    phases.filters = FindVaryingRows(phases.train).of_edge;
  } catch (const Error& e) {
    if (e.code() == ExitCode::kBug) throw;
    phases.refusal = e.what();
    return phases;
  }
  phases.flow = FindFlow(phases.train);
  phases.too_large = IsTooLarge(phases.train) || IsTooLarge(phases.test);
  return phases;
}

bool NetDraft::Describe(const Phases& phases, DraftBlob* blob) const {
  const int train = phases.train.FindEdge(blob->name), test = phases.test.FindEdge(blob->name);
  if (train < 0 && test < 0) return false;
  blob->shape = train >= 0 ? phases.train.edges[train].shape : phases.test.edges[test].shape;
  blob->rows =
      blob->shape.dim_or_1(0) == (train >= 0 ? batch_ : test_batch_) && blob->shape.rank() > 0;
  if (train >= 0 && test >= 0)
    blob->rows = blob->rows && phases.test.edges[test].shape.dim_or_1(0) == test_batch_;
  blob->read =
      (train >= 0 && IsRead(phases.train, train)) || (test >= 0 && IsRead(phases.test, test));
  blob->learns = train >= 0 && phases.flow.learns[train];
  blob->open = train >= 0 && phases.flow.open[train];
  blob->blocked = train >= 0 && phases.flow.blocked[train];
  const int filter = train >= 0 ? phases.filters[train] : -1;
  blob->filter = filter >= 0 ? phases.train.layer(filter).name() : "";
  blob->kind = blob->blocked ? BlobKind::kOther : kinds_.at(blob->name);
  return train >= 0 && test >= 0;
}

void NetDraft::Accept(NetParameter net, Phases phases) {
  net_ = std::move(net);
  const auto absent = [&](DraftBlob& blob) { return !Describe(phases, &blob); };
  blobs_.erase(std::remove_if(blobs_.begin(), blobs_.end(), absent), blobs_.end());
  graph_ = std::make_shared<const Graph>(std::move(phases.train));
}

bool NetDraft::Add(const Layer& layer) {
  const auto refuse = [&](const std::string& message) {
    ++proposals_;
    refusals_.push_back({layer.type, message});
    return false;
  };
  LayerParameter param;
  try {
    param = Proposed(layer);
  } catch (const UserError& e) {
    return refuse(e.what());
  } catch (const ErrorList& e) {
    return refuse(e.what());
  }
  NetParameter net = net_;
  *net.add_layer() = param;
  std::vector<DraftBlob> added = NewBlobs(layer, param), blobs = blobs_;
  for (const DraftBlob& blob : added) {  // a layer in place replaces a blob
    const auto same = [&](const DraftBlob& old) { return old.name == blob.name; };
    blobs.erase(std::remove_if(blobs.begin(), blobs.end(), same), blobs.end());
    blobs.push_back(blob);
  }
  Phases phases = Build(net, blobs);
  if (!phases.refusal.empty()) return refuse(phases.refusal);
  if (phases.too_large) return false;
  ++proposals_;
  for (const DraftBlob& blob : added) kinds_[blob.name] = blob.kind;
  for (DraftBlob& blob : added) Describe(phases, &blob);
  blobs_ = std::move(blobs);
  Accept(std::move(net), std::move(phases));
  tops_ = std::move(added);
  return true;
}

bool NetDraft::Change(const std::function<void(NetParameter*)>& change) {
  NetParameter net = net_;
  change(&net);
  Phases phases = Build(net, blobs_);
  if (!phases.valid()) return false;
  Accept(std::move(net), std::move(phases));
  return true;
}

}  // namespace doppio

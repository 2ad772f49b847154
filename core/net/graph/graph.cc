#include "core/net/graph/graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text/nearest.h"
#include "core/net/graph/gradient_flow.h"
#include "core/net/graph/layer_checks.h"
#include "core/net/graph/param_table.h"
#include "core/net/graph/place_layers.h"
#include "core/net/graph/read_fields.h"
#include "core/net/graph/sample_groups.h"
#include "core/net/graph/stand_in.h"
#include "core/net/graph/storage.h"
#include "core/net/graph/varying_rows.h"
#include "core/net/contract/combinations.h"
#include "core/net/spec/state_rule.h"

namespace doppio {
namespace {

class Builder {
 public:
  explicit Builder(NetSpec spec) { graph_.spec = std::move(spec); }

  Graph Build() {
    const size_t count = graph_.spec.layers.size();
    if (count == 0) throw UserError(graph_.spec.at, WhyEmpty());
    graph_.nodes.resize(count);
    for (size_t i = 0; i < count; ++i) {
      errors_.Try([&] { AddNode(static_cast<int>(i)); });
    }
    errors_.ThrowIfAny();
    FindOutputs();
    FindPreprocessing();
    FindVaryingRows(graph_);  // reports mistakes; the plan calls it again
    FindGradients(&graph_);
    ChooseStorage(&graph_);
    PlaceLayers(&graph_);
    return std::move(graph_);
  }

 private:
  // Returns why no layer belongs to the net.
  std::string WhyEmpty() const {
    const NetSpec& spec = graph_.spec;
    if (spec.left_out.empty()) return "the net has no layers";
    const LayerSpec& layer = spec.left_out.front();
    return StrCat("there is no layer; rules leave out all ", spec.left_out.size(),
                  ", such as layer '", layer.name(), "' (line ", layer.At().line,
                  "): ", WhyLeftOut(layer.param, spec.state));
  }

  void FindOutputs() {
    for (size_t e = 0; e < graph_.edges.size(); ++e) {
      const Edge& edge = graph_.edges[e];
      const bool named = edge.top < graph_.layer(edge.producer).param.top_size();
      if (edge.uses.empty() && named) graph_.outputs.push_back(static_cast<int>(e));
    }
    std::sort(graph_.outputs.begin(), graph_.outputs.end(),
              [this](int a, int b) { return graph_.edges[a].name < graph_.edges[b].name; });
  }

  void FindPreprocessing() {
    graph_.preprocessing = graph_.spec.preprocessing;
    for (const Node& node : graph_.nodes) {
      if (!node.shape.preprocessing) continue;
      graph_.preprocessing = node.shape.preprocessing;
      return;
    }
  }

  void AddNode(int index) {
    ReplacePythonLayer(&graph_.spec.layers[index]);
    const LayerSpec& spec = graph_.layer(index);
    Node& node = graph_.nodes[index];
    bool complete = false;
    // If a layer is wrong, its tops are still added, with unknown shapes, so that its readers are
    // not reported as mistakes, too.
    try {
      complete = ResolveBottoms(index, &node);
      node.type = FindType(spec);
      CheckCounts(spec, *node.type);
      if (complete) {
        Infer(index, &node);
        params_.Add(index, &graph_);
      }
    } catch (...) {
      AddTops(index, &node, false);
      throw;
    }
    AddTops(index, &node, complete);
  }

  void Infer(int index, Node* node) {
    const LayerSpec& spec = graph_.layer(index);
    std::vector<Shape> bottoms;
    for (int edge : node->bottoms) bottoms.push_back(graph_.edges[edge].shape);
    const int guess = GuessBehind(*node);
    try {
      node->shape = InferShape(*node->type, spec, bottoms);
      CheckSizes(spec, node->shape);
    } catch (const Error& e) {
      if (guess < 0 || e.code() != ExitCode::kConfig) throw;
      const Edge& edge = graph_.edges[guess];
      // Like the missing file itself, this is not a mistake of the net.
      throw FileError(e.at(), e.message(), "; the shapes here depend on that of '", edge.name,
                      "' (line ", graph_.layer(edge.producer).At().line,
                      "), which is assumed to be ", edge.shape.ToString(),
                      ", because its data is missing");
    }
  }

  // Returns the edge with an assumed shape that those of the node's bottoms depend on, or -1.
  int GuessBehind(const Node& node) const {
    for (int edge : node.bottoms) {
      const auto guess = guess_of_.find(edge);
      if (guess != guess_of_.end()) return guess->second;
    }
    return -1;
  }

  // Returns false if a bottom is unknown, or comes from a layer that failed.
  bool ResolveBottoms(int index, Node* node) {
    const LayerSpec& spec = graph_.layer(index);
    bool complete = true;
    for (int i = 0; i < spec.param.bottom_size(); ++i) {
      const std::string& name = spec.param.bottom(i);
      auto it = current_.find(name);
      if (it == current_.end()) {
        complete = false;
        errors_.Add(spec.Mistake("bottom", Unknown(name, index), i));
        continue;
      }
      node->bottoms.push_back(it->second);
      if (broken_.count(it->second) != 0) complete = false;
      graph_.edges[it->second].uses.push_back({index, i});
    }
    const int flags = spec.param.propagate_down_size();
    if (flags != 0 && flags != spec.param.bottom_size()) {
      errors_.Add(spec.Mistake(
          "propagate_down",
          StrCat("propagate_down is given ", flags, " times for ", spec.param.bottom_size(),
                 " bottoms; set it once per bottom, or not at all")));
    }
    return complete;
  }

  std::string Unknown(const std::string& name, int index) const {
    for (size_t later = index; later < graph_.spec.layers.size(); ++later) {
      const LayerSpec& spec = graph_.spec.layers[later];
      for (const std::string& top : spec.param.top()) {
        if (top != name) continue;
        const std::string who = later == static_cast<size_t>(index) ? "this layer itself"
                                                                    : "layer '" + spec.name() + "'";
        return StrCat("bottom '", name, "' is not produced by any layer above, only by ", who,
                      " (line ", spec.At().line, "); move that layer up");
      }
    }
    std::vector<std::string> names;
    for (const auto& blob : current_) names.push_back(blob.first);
    std::string text = "bottom '" + name + "' is not produced by any layer above";
    const std::string absent = WhyAbsent(graph_.spec, name);
    if (!absent.empty()) return text + absent;
    const std::string nearest = Nearest(name, names);
    if (nearest.empty()) return text;
    const int producer = graph_.edges[current_.at(nearest)].producer;
    return StrCat(text, "; did you mean '", nearest, "' (line ", graph_.layer(producer).At().line,
                  ")?");
  }

  void AddTops(int index, Node* node, bool complete) {
    const LayerSpec& spec = graph_.layer(index);
    const int named = spec.param.top_size();
    const int count =
        std::max<int>(named, complete ? static_cast<int>(node->shape.tops.size()) : 0);
    if (spec.param.loss_weight_size() > 0 && spec.param.loss_weight_size() != count) {
      errors_.Add(
          spec.Mistake("loss_weight", StrCat("loss_weight is given ", spec.param.loss_weight_size(),
                                             " times for ", count, " tops")));
    }
    std::set<std::string> seen;
    const int guess = GuessBehind(*node);
    for (int i = 0; i < count; ++i) {
      Edge edge;
      edge.name = i < named ? spec.param.top(i) : "(automatic)";
      edge.producer = index;
      edge.top = i;
      if (complete) edge.shape = node->shape.tops[i];
      if (i < spec.param.loss_weight_size()) {
        edge.loss_weight = spec.param.loss_weight(i);
      } else if (complete && node->shape.loss && i == 0) {
        edge.loss_weight = 1;
        edge.implicit_weight = true;
      }
      const bool in_place = i < spec.param.bottom_size() && spec.param.bottom(i) == edge.name;
      if (!seen.insert(edge.name).second ||
          (i < named && !in_place && current_.count(edge.name) != 0)) {
        const int other = seen.size() <= static_cast<size_t>(i)
                              ? index
                              : graph_.edges[current_[edge.name]].producer;
        errors_.Add(spec.Mistake(
            "top",
            StrCat("top '", edge.name, "' is already produced by layer '",
                   graph_.layer(other).name(), "' (line ", graph_.layer(other).At().line,
                   "); choose another name, or list it as a bottom too to work in place"),
            i));
      }
      const int id = static_cast<int>(graph_.edges.size());
      graph_.edges.push_back(edge);
      node->tops.push_back(id);
      if (!complete) broken_.insert(id);
      if (complete && node->shape.guessed) guess_of_[id] = node->tops[0];
      if (guess >= 0) guess_of_[id] = guess;
      if (i < named) current_[edge.name] = id;
    }
  }

  Graph graph_;
  ErrorCollector errors_;
  std::map<std::string, int> current_;  // blob name -> its last version
  std::set<int> broken_;                // edges of unknown shape
  std::map<int, int> guess_of_;         // edge -> the edge with an assumed shape behind it
  ParamTable params_;
};

}  // namespace

std::string Graph::Describe(int node) const {
  const LayerSpec& spec = layer(node);
  const std::string place = spec.At().ToString();
  return "layer '" + spec.name() + "'" + (place.empty() ? "" : " (" + place + ")");
}

int Graph::FindEdge(const std::string& blob) const {
  for (size_t i = edges.size(); i-- > 0;) {
    if (edges[i].name == blob) return static_cast<int>(i);
  }
  return -1;
}

Graph MakeGraph(NetSpec spec) {
  if (!spec.has_rules) return Builder(std::move(spec)).Build();
  const std::string net = InNet(spec.state);
  ErrorCollector found, mistakes;
  Graph graph;
  if (found.Try([&] { graph = Builder(std::move(spec)).Build(); })) return graph;
  for (const Error& e : found.errors())
    mistakes.Add(e.code() == ExitCode::kConfig ? UserError(e.at(), net, e.message()) : e);
  mistakes.ThrowIfAny();
  return graph;
}

bool IsScore(const Graph& graph, int edge) {
  const Edge& e = graph.edges[edge];
  return e.loss_weight != 0 || graph.nodes[e.producer].type->scores;
}

std::vector<Warning> LayerWarnings(const Graph& graph) {
  std::vector<Warning> warnings;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const LayerSpec& layer = graph.spec.layers[n];
    if (!layer.replaced.empty())
      warnings.push_back({layer.At("type"), "layer '" + layer.name() + "': " + layer.replaced});
    const std::vector<Warning>& own = graph.nodes[n].shape.warnings;
    warnings.insert(warnings.end(), own.begin(), own.end());
  }
  for (Warning& warning : SampleWarnings(graph)) warnings.push_back(std::move(warning));
  return warnings;
}

Features LayerFeaturesOf(const Graph& graph) {
  Features features;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const LayerSpec& layer = graph.layer(static_cast<int>(n));
    for (const Feature feature : graph.nodes[n].shape.features) {
      features.Add(
          {feature, "layer '" + layer.name() + "': " + TextOf(feature).name, layer.At("type")});
    }
  }
  return features;
}

Features FeaturesOf(const Graph& graph) {
  Features features = LayerFeaturesOf(graph);
  const NetOptions& options = graph.spec.options;
  features.AddIf(PlacedDeviceNames(graph).size() > 1, Feature::kPlace,
                 options.place.empty() ? "the field 'device'" : "");
  features.AddIf(options.microbatches > 1, Feature::kMicrobatches);
  return features;
}

int64_t BatchOf(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    // A layer without bottoms but with parameters (Parameter) outputs its parameters, not data.
    if (!node.bottoms.empty() || node.tops.empty() || !node.params.empty()) continue;
    const Shape& shape = graph.edges[node.tops[0]].shape;
    if (shape.rank() > 0) return shape[0];
  }
  return 0;
}

}  // namespace doppio

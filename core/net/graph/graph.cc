#include "core/net/graph/graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/checked_product.h"
#include "core/net/graph/filler.h"
#include "core/net/graph/gradient_flow.h"
#include "core/net/graph/place_layers.h"
#include "core/net/graph/stand_in.h"
#include "core/net/graph/storage.h"
#include "core/net/graph/varying_rows.h"
#include "core/net/spec/fork_names.h"

namespace doppio {
namespace {

class Builder {
 public:
  explicit Builder(NetSpec spec) { graph_.spec = std::move(spec); }

  Graph Build() {
    const size_t count = graph_.spec.layers.size();
    if (count == 0) {
      throw UserError(graph_.spec.at,
                      "the net has no layers in phase " + Phase_Name(graph_.spec.state.phase()));
    }
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
        std::vector<Shape> bottoms;
        for (int edge : node.bottoms) bottoms.push_back(graph_.edges[edge].shape);
        node.shape = node.type->infer(spec, bottoms);
        CheckSizes(spec, node.shape);
        AddParams(index, &node);
      }
    } catch (...) {
      AddTops(index, &node, false);
      throw;
    }
    AddTops(index, &node, complete);
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
      errors_.Add(spec.Mistake("propagate_down",
                               "propagate_down is given " + std::to_string(flags) + " times for " +
                                   std::to_string(spec.param.bottom_size()) +
                                   " bottoms; set it once per bottom, or not at all"));
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
        return "bottom '" + name + "' is not produced by any layer above, only by " + who +
               " (line " + std::to_string(spec.At().line) + "); move that layer up";
      }
    }
    std::vector<std::string> names;
    for (const auto& blob : current_) names.push_back(blob.first);
    std::string text = "bottom '" + name + "' is not produced by any layer above";
    const std::string nearest = Nearest(name, names);
    if (nearest.empty()) return text;
    const int producer = graph_.edges[current_.at(nearest)].producer;
    return text + "; did you mean '" + nearest + "' (line " +
           std::to_string(graph_.layer(producer).At().line) + ")?";
  }

  static const LayerType* FindType(const LayerSpec& spec) {
    if (spec.type().empty()) throw spec.Mistake("", "has no type");
    const LayerType* type = LayerTypes::Get().Find(spec.type());
    if (type == nullptr) throw spec.Mistake("type", UnknownType(spec.type()));
    return type;
  }

  static std::string UnknownType(const std::string& type) {
    if (type == "Python")  // registered only in programs with an interpreter
      return "type '" + type + "' of Caffe is not supported by this version of Doppio";
    const std::string fork = ForkHint("LayerParameter", "type=" + type);
    return "unknown type '" + type + "'" +
           (fork.empty() ? DidYouMean(type, LayerTypes::Get().Names()) : ": " + fork);
  }

  static void CheckCount(const LayerSpec& spec, const char* what, int have, int min, int max) {
    if (have >= min && (max == kAny || have <= max)) return;
    std::string wanted = std::to_string(min);
    if (max == kAny) {
      wanted = "at least " + wanted;
    } else if (max != min) {
      wanted += " to " + std::to_string(max);
    }
    throw spec.Mistake(
        have > 0 ? what : "",
        spec.type() + " takes " + wanted + " " + what + "(s), got " + std::to_string(have),
        have > max && max != kAny ? max : 0);
  }

  static void CheckCounts(const LayerSpec& spec, const LayerType& type) {
    const int bottoms = spec.param.bottom_size(), tops = spec.param.top_size();
    CheckCount(spec, "bottom", bottoms, type.min_bottoms, type.max_bottoms);
    CheckCount(spec, "top", tops, type.auto_top ? 0 : type.min_tops, type.max_tops);
    if (type.same_count && bottoms != tops) {
      throw spec.Mistake("top", spec.type() + " produces one top per bottom, but it has " +
                                    std::to_string(bottoms) + " bottoms, " + std::to_string(tops) +
                                    " tops");
    }
  }

  // Limits the number of elements, so that readers of these shapes may multiply extents without
  // overflow.
  static void CheckSizes(const LayerSpec& spec, const LayerShape& shape) {
    const auto check = [&](const Shape& of, const std::string& what) {
      if (CheckedProduct(of.dims(), kMaxPlanned)) return;
      throw spec.Mistake("", what + " of shape " + of.ToString() + " has more than the limit of " +
                                 std::to_string(kMaxPlanned) + " elements");
    };
    for (size_t i = 0; i < shape.tops.size(); ++i) check(shape.tops[i], "top " + std::to_string(i));
    for (size_t i = 0; i < shape.params.size(); ++i)
      check(shape.params[i].shape, "parameter " + std::to_string(i));
  }

  void AddTops(int index, Node* node, bool complete) {
    const LayerSpec& spec = graph_.layer(index);
    const int named = spec.param.top_size();
    const int count =
        std::max<int>(named, complete ? static_cast<int>(node->shape.tops.size()) : 0);
    if (spec.param.loss_weight_size() > 0 && spec.param.loss_weight_size() != count) {
      errors_.Add(spec.Mistake("loss_weight", "loss_weight is given " +
                                                  std::to_string(spec.param.loss_weight_size()) +
                                                  " times for " + std::to_string(count) + " tops"));
    }
    std::set<std::string> seen;
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
            "top '" + edge.name + "' is already produced by layer '" + graph_.layer(other).name() +
                "' (line " + std::to_string(graph_.layer(other).At().line) +
                "); choose another name, or list it as a bottom too to work in place",
            i));
      }
      const int id = static_cast<int>(graph_.edges.size());
      graph_.edges.push_back(edge);
      node->tops.push_back(id);
      if (!complete) broken_.insert(id);
      if (i < named) current_[edge.name] = id;
    }
  }

  void AddParams(int index, Node* node) {
    const LayerSpec& spec = graph_.layer(index);
    const int count = static_cast<int>(node->shape.params.size());
    if (spec.param.param_size() > count) {
      throw spec.Mistake("param",
                         "param is given " + std::to_string(spec.param.param_size()) +
                             " times, the layer has " + std::to_string(count) + " parameter(s)",
                         count);
    }
    for (int i = 0; i < count; ++i) {
      const ParamShape& shape = node->shape.params[i];
      const ParamSpec given = i < spec.param.param_size() ? spec.param.param(i) : ParamSpec();
      node->param_shapes.push_back(shape.shape);
      auto shared = given.name().empty() ? by_share_name_.end() : by_share_name_.find(given.name());
      if (shared != by_share_name_.end()) {
        ShareParam(spec, i, given, shape.shape, shared->second);
        node->params.push_back(shared->second);
        continue;
      }
      try {
        CheckFiller(shape.filler, shape.shape);
      } catch (const UserError& e) {
        throw spec.Mistake("", e.message());
      }
      GraphParam param;
      param.node = index;
      param.index = i;
      param.shape = shape.shape;
      param.filler = shape.filler;
      param.trainable = shape.trainable;
      param.lr_mult = shape.trainable ? given.lr_mult() : 0;
      param.decay_mult = given.decay_mult();
      const int id = static_cast<int>(graph_.params.size());
      if (!given.name().empty()) by_share_name_[given.name()] = id;
      has_mults_.push_back({given.has_lr_mult(), given.has_decay_mult()});
      graph_.params.push_back(param);
      node->params.push_back(id);
    }
  }

  // Adds a later user of a parameter. The shapes must agree. A multiplier that only this user sets
  // takes effect.
  void ShareParam(const LayerSpec& spec, int i, const ParamSpec& given, const Shape& shape,
                  int id) {
    GraphParam& owner = graph_.params[id];
    ++owner.uses;
    const std::string with = "param '" + given.name() + "' is shared with layer '" +
                             graph_.layer(owner.node).name() + "' (line " +
                             std::to_string(graph_.layer(owner.node).At().line) + ")";
    if (shape != owner.shape) {
      if (given.share_mode() != ParamSpec::PERMISSIVE) {
        throw spec.Mistake(
            "param.name",
            with + ", where its shape is " + owner.shape.ToString() + ", not " + shape.ToString(),
            i);
      }
      if (shape.count() != owner.shape.count()) {
        throw spec.Mistake("param.name",
                           with + ", where it has " + std::to_string(owner.shape.count()) +
                               " values, not " + std::to_string(shape.count()),
                           i);
      }
      owner.reshaped = true;
    }
    auto merge = [&](bool given_here, float value, bool* known, float* owned, const char* field) {
      if (!given_here) return;
      if (*known && *owned != value) {
        throw spec.Mistake(std::string("param.") + field,
                           with + ", where " + field + " is " + std::to_string(*owned) + ", not " +
                               std::to_string(value),
                           i);
      }
      *known = true;
      *owned = value;
    };
    Mults& mults = has_mults_[id];
    merge(given.has_lr_mult(), given.lr_mult(), &mults.lr, &owner.lr_mult, "lr_mult");
    merge(given.has_decay_mult(), given.decay_mult(), &mults.decay, &owner.decay_mult,
          "decay_mult");
  }

  struct Mults {
    bool lr, decay;  // true if a user has set the multiplier
  };

  Graph graph_;
  ErrorCollector errors_;
  std::map<std::string, int> current_;  // blob name -> its last version
  std::set<int> broken_;                // edges of unknown shape
  std::map<std::string, int> by_share_name_;
  std::vector<Mults> has_mults_;
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

Graph MakeGraph(NetSpec spec) { return Builder(std::move(spec)).Build(); }

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

#include "core/net/graph/place_layers.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/net/contract/place_rule.h"
#include "core/net/spec/state_rule.h"

namespace doppio {
namespace {

bool MatchesAny(const PlaceRule& rule, const NetSpec& spec) {
  return std::any_of(spec.layers.begin(), spec.layers.end(), [&](const LayerSpec& layer) {
    return MatchesPattern(rule.pattern, layer.name());
  });
}

class Placer {
 public:
  explicit Placer(Graph* graph) : graph_(*graph), rules_(graph->spec.options.place) {}

  void Run() {
    const bool fields =
        std::any_of(graph_.spec.layers.begin(), graph_.spec.layers.end(),
                    [](const LayerSpec& layer) { return !layer.param.device().empty(); });
    if (rules_.empty() && !fields) return;
    places_.resize(graph_.nodes.size());
    CheckRules();
    for (size_t n = 0; n < places_.size(); ++n)
      errors_.Try([&] { places_[n] = Requested(static_cast<int>(n)); });
    errors_.ThrowIfAny();
    FillGaps();
    NumberPlaces();
    CheckParams();
    errors_.ThrowIfAny();
    MakeStages();
  }

 private:
  bool Source(int n) const {
    const Node& node = graph_.nodes[n];
    return node.bottoms.empty() && node.params.empty() && !node.tops.empty();
  }

  void CheckRules() {
    for (const PlaceRule& rule : rules_) {
      if (MatchesAny(rule, graph_.spec)) continue;
      std::string hint = "'doppio summary' lists their names";
      for (const LayerSpec& layer : graph_.spec.left_out) {
        if (!MatchesPattern(rule.pattern, layer.name())) continue;
        hint = "layer '" + layer.name() +
               "' is left out: " + WhyLeftOut(layer.param, graph_.spec.state);
      }
      errors_.Add(UsageError("--place: the pattern '", rule.pattern,
                             "' matches no layer of the net; ", hint));
    }
  }

  // Returns the place that the user gives to the layer, or "".
  std::string Requested(int n) const {
    const LayerSpec& layer = graph_.layer(n);
    const auto rule = std::find_if(rules_.begin(), rules_.end(), [&](const PlaceRule& r) {
      return MatchesPattern(r.pattern, layer.name());
    });
    if (rule != rules_.end()) return rule->place;
    const std::string& place = layer.param.device();
    const std::string mistake = place.empty() ? "" : PlaceMistake(place);
    if (mistake.empty()) return place;
    throw layer.Mistake("device", mistake);
  }

  // Returns the first layer that reads a top of `n`, or -1.
  int FirstReader(int n) const {
    int first = -1;
    for (int top : graph_.nodes[n].tops) {
      for (const Use& use : graph_.edges[top].uses)
        first = first < 0 ? use.node : std::min(first, use.node);
    }
    return first;
  }

  void FillGaps() {
    std::string before;
    for (size_t n = 0; n < places_.size() && before.empty(); ++n) {
      if (!Source(static_cast<int>(n))) before = places_[n];
    }
    for (size_t n = 0; n < places_.size() && before.empty(); ++n) before = places_[n];
    for (size_t n = 0; n < places_.size(); ++n) {
      if (Source(static_cast<int>(n))) continue;
      if (places_[n].empty()) places_[n] = before;
      before = places_[n];
    }
    for (size_t n = 0; n < places_.size(); ++n) {
      if (Source(static_cast<int>(n))) PlaceSource(static_cast<int>(n), before);
    }
  }

  // `otherwise` is the place of a source that no layer reads.
  void PlaceSource(int n, const std::string& otherwise) {
    const int reader = FirstReader(n);
    const std::string& wanted = reader < 0 ? otherwise : places_[reader];
    std::string& place = places_[n];
    if (!place.empty() && reader >= 0 && place != wanted) {
      errors_.Add(graph_.layer(n).Mistake(
          "device", "a data layer cannot be placed on " + place + ", because its first reader '" +
                        graph_.layer(reader).name() + "' is on " + wanted +
                        "; leave it out, and it is placed there"));
    }
    place = wanted;
  }

  void NumberPlaces() {
    for (size_t n = 0; n < places_.size(); ++n) {
      auto place = std::find(graph_.places.begin(), graph_.places.end(), places_[n]);
      if (place == graph_.places.end()) place = graph_.places.insert(place, places_[n]);
      graph_.nodes[n].place = static_cast<int>(place - graph_.places.begin());
    }
    const std::vector<std::string> devices = PlacedDeviceNames(graph_);
    const std::string& first = devices[0];
    for (const std::string& other : devices) {
      if (ParseDeviceName(other)->gpu == ParseDeviceName(first)->gpu) continue;
      errors_.Add(graph_.spec.at, "the layers are placed on " + first + " and on " + other +
                                      "; place them on devices of one kind");
    }
  }

  void CheckParams() {
    std::vector<int> user(graph_.params.size(), -1);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (int param : graph_.nodes[n].params) {
        if (user[param] < 0) user[param] = static_cast<int>(n);
        if (graph_.nodes[user[param]].place == graph_.nodes[n].place) continue;
        errors_.Add(graph_.layer(static_cast<int>(n))
                        .Mistake("param", "is placed on " + places_[n] +
                                              ", but shares a parameter with layer '" +
                                              graph_.layer(user[param]).name() + "' on " +
                                              places_[user[param]] + "; place both alike"));
      }
    }
  }

  // A data layer joins the stage of its first reader.
  void MakeStages() {
    std::vector<bool> waits(graph_.nodes.size());
    for (size_t n = 0; n < waits.size(); ++n) {
      const int node = static_cast<int>(n);
      waits[n] = Source(node) && FirstReader(node) >= 0;
      if (waits[n]) continue;
      const int stage = StageFor(node);
      graph_.nodes[n].stage = stage;
      for (int bottom : graph_.nodes[n].bottoms) {
        const int producer = graph_.edges[bottom].producer;
        if (waits[producer]) graph_.nodes[producer].stage = stage;
        waits[producer] = false;
      }
    }
  }

  int StageFor(int n) {
    const Node& node = graph_.nodes[n];
    int lowest = 0;
    for (int bottom : node.bottoms)
      lowest = std::max(lowest, graph_.nodes[graph_.edges[bottom].producer].stage);
    for (int stage = static_cast<int>(stage_places_.size()); stage-- > lowest;) {
      if (stage_places_[stage] == node.place) return stage;
    }
    stage_places_.push_back(node.place);
    return static_cast<int>(stage_places_.size()) - 1;
  }

  Graph& graph_;
  const std::vector<PlaceRule>& rules_;
  std::vector<std::string> places_;  // per node
  std::vector<int> stage_places_;    // per stage
  ErrorCollector errors_;
};

}  // namespace

void PlaceLayers(Graph* graph) { Placer(graph).Run(); }

void DropUnusedRules(NetSpec* spec) {
  std::vector<PlaceRule>& rules = spec->options.place;
  const auto unused = [&](const PlaceRule& rule) { return !MatchesAny(rule, *spec); };
  rules.erase(std::remove_if(rules.begin(), rules.end(), unused), rules.end());
}

std::vector<int> RunningOrder(const Graph& graph) {
  std::vector<int> order(graph.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return graph.nodes[a].stage < graph.nodes[b].stage; });
  return order;
}

std::vector<std::string> PlacedDeviceNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const std::string& place : graph.places) {
    for (const std::string& device : DevicesOfPlace(place)) {
      if (std::find(names.begin(), names.end(), device) == names.end()) names.push_back(device);
    }
  }
  return names;
}

int LayersAt(const Graph& graph, int place) {
  return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                        [&](const Node& node) { return node.place == place; }));
}

}  // namespace doppio

#include "solvers/trainer/empty_statistics.h"

#include <algorithm>
#include <vector>

#include "core/net/contract/plain_blob.h"

namespace doppio {
namespace {

constexpr size_t kNamedLayers = 3;  // maximum number of layers in a text; a net may have a hundred

// Returns "'bn1', 'bn2', 'bn3' and 17 more".
std::string ListOf(const std::vector<std::string>& layers) {
  std::string names;
  for (size_t i = 0; i < std::min(layers.size(), kNamedLayers); ++i)
    names += (i == 0 ? "'" : ", '") + layers[i] + "'";
  if (layers.size() > kNamedLayers)
    names += " and " + std::to_string(layers.size() - kNamedLayers) + " more";
  return names;
}

// Returns the names in the order of the net.
std::vector<std::string> LayersWithEmptyStatistics(const Net& net) {
  std::vector<std::string> layers;
  const ParamStore& store = net.params();
  const int nodes = static_cast<int>(net.graph().nodes.size());
  for (int i = 0; i < nodes; ++i) {
    const Node& node = net.graph().nodes[i];
    const auto& statistics = node.shape.statistics;
    if (!statistics || !statistics->running) continue;
    const int index = net.plan().param_index[node.params[statistics->empty_param]];
    const std::vector<float> values = ReadTensor(store.params()[index].value, store.device()).data;
    if (std::all_of(values.begin(), values.end(), [](float value) { return value == 0; }))
      layers.push_back(net.graph().layer(i).name());
  }
  return layers;
}

}  // namespace

std::string EmptyStatisticsHint(const TestScores& scores, const Net& net) {
  if (NonFiniteScores(scores).empty()) return "";
  const std::vector<std::string> layers = LayersWithEmptyStatistics(net);
  if (layers.empty()) return "";
  return StrCat("scores of test net #", scores.net,
                " are not finite. The likely reason: before the first training iteration, the "
                "running statistics of BatchNorm are empty (layers ",
                ListOf(layers), "). test_initialization: false skips this test");
}

std::string EmptyStatisticsWarning(const Net& train) {
  const std::vector<std::string> layers = LayersWithEmptyStatistics(train);
  if (layers.empty()) return "";
  return "BatchNorm layers " + ListOf(layers) +
         " of the train net use their running statistics (use_global_stats: true; frozen: true of "
         "BN), but these are empty, so each layer only multiplies its bottom by 1 / sqrt(eps). "
         "Start from weights that have these statistics, or remove that field";
}

std::vector<Warning> StatisticsOfBatches(const Graph& graph) {
  std::vector<std::string> layers;
  if (graph.spec.state.phase() == TEST) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const auto& statistics = graph.nodes[i].shape.statistics;
      if (statistics && !statistics->running)
        layers.push_back(graph.layer(static_cast<int>(i)).name());
    }
  }
  if (layers.empty()) return {};
  return {{graph.spec.at,
           "BatchNorm layers " + ListOf(layers) +
               " of a net for phase TEST have use_global_stats: false, so an output depends on the "
               "other samples of its batch; remove this field to use the running statistics"}};
}

}  // namespace doppio

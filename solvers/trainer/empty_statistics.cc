#include "solvers/trainer/empty_statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/net/store/plain_blob.h"

namespace doppio {
namespace {

constexpr size_t kFactor = 2;       // the blob that divides the sums of means and variances
constexpr size_t kNamedLayers = 3;  // maximum number of layers in a hint; a net may have a hundred

// Returns the names in the order of the net.
std::vector<std::string> LayersWithEmptyStatistics(const Net& net) {
  std::vector<std::string> layers;
  const ParamStore& store = net.params();
  const int nodes = static_cast<int>(net.graph().nodes.size());
  for (int i = 0; i < nodes; ++i) {
    const LayerSpec& layer = net.graph().layer(i);
    if (layer.type() != "BatchNorm") continue;
    const int factor = net.param_index(net.graph().nodes[i].params[kFactor]);
    const Tensor& value = store.params()[factor].value;
    if (ReadTensor(value, store.device()).data[0] == 0) layers.push_back(layer.name());
  }
  return layers;
}

bool IsFinite(const TestScores& scores) {
  return std::isfinite(scores.loss) &&
         std::all_of(scores.scores.begin(), scores.scores.end(),
                     [](const OutputValue& score) { return std::isfinite(score.value); });
}

}  // namespace

std::string EmptyStatisticsHint(const TestScores& scores, const Net& net) {
  if (IsFinite(scores)) return "";
  const std::vector<std::string> layers = LayersWithEmptyStatistics(net);
  if (layers.empty()) return "";
  std::string names;
  for (size_t i = 0; i < std::min(layers.size(), kNamedLayers); ++i)
    names += (i == 0 ? "'" : ", '") + layers[i] + "'";
  if (layers.size() > kNamedLayers)
    names += " and " + std::to_string(layers.size() - kNamedLayers) + " more";
  return "scores of test net #" + std::to_string(scores.net) +
         " are not finite. The likely reason: before the first training iteration, the running "
         "statistics of BatchNorm are empty (layers " +
         names + "). test_initialization: false skips this test";
}

}  // namespace doppio

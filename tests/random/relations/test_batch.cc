// The scores of a test over a whole source do not depend on the test's batch (docs/prototxt.md).
#include <algorithm>
#include <iterator>
#include <set>

#include "core/base/error.h"
#include "tests/random/batch.h"
#include "tests/random/layer_row.h"
#include "tests/random/pruned.h"
#include "tests/random/relation.h"

namespace doppio {
namespace {

// A BatchNorm uses the stored statistics in TEST, unless its file says otherwise.
bool DependsOnTestBatch(const LayerParameter& layer) {
  const auto normalization = layer.loss_param().normalization();
  // These are sums over a batch.
  if (normalization == LossParameter::NONE || normalization == LossParameter::PRE_FIXED)
    return true;
  // The second top has the error of each sample.
  const std::set<std::string> with_samples = {"SmoothL1Loss", "SmoothL1LossOHEM"};
  if (with_samples.count(layer.type()) > 0 && layer.top_size() > 1) return true;
  const unsigned traits = LayerRow::kWholeBatch | LayerRow::kState | LayerRow::kOutside;
  const bool stored =
      layer.type() == "BatchNorm" && !layer.batch_norm_param().has_use_global_stats();
  return !stored && (TraitsOfLayer(layer) & traits) != 0;
}

bool HasTests(const RandomCase& random_case) { return !BatchesOf(random_case.net, TEST).empty(); }

// Returns true if each loss is a ratio: a single number of the layer types that are losses, which
// no layer reads.
bool ScoresAreRatios(const RandomCase& random_case, const Way& way) {
  try {
    const Graph graph = GraphOfCase(WriteCase(random_case, way), TEST);
    return !graph.nodes.empty() &&
           std::all_of(graph.edges.begin(), graph.edges.end(), [&](const Edge& edge) {
             const Node& producer = graph.nodes[static_cast<size_t>(edge.producer)];
             const bool ratio = producer.shape.loss && edge.uses.empty() && edge.shape.rank() == 0;
             return edge.loss_weight == 0 || ratio;
           });
  } catch (const Error&) {
    return false;  // such as a source without an end
  }
}

// Returns the scores before the first iteration.
Outcome AtStart(Outcome outcome) {
  for (auto it = outcome.numbers.begin(); it != outcome.numbers.end();) {
    const std::string& name = it->first;
    it = name.substr(name.rfind(' ')) == " 0" ? std::next(it) : outcome.numbers.erase(it);
  }
  return outcome;
}

std::string CheckTestBatch(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  const std::optional<RandomCase> pruned = Pruned(random_case, &DependsOnTestBatch, folder);
  if (!pruned) return "";
  RandomCase changed = *pruned;
  SolverParameter& solver = changed.solver;
  solver.clear_test_iter();
  solver.clear_test_epoch();
  solver.set_test_interval(std::max(1, solver.test_interval()));
  Way way;
  way.folder = folder;
  if (!ScoresAreRatios(changed, way)) return "";
  const std::set<std::string> kinds = {"mean", "output", "weight", "move", "history", "loss"};
  const Outcome first = Without(Run(changed, way), kinds);
  if (Declined(first)) return "";
  for (int i = 0; i < 2; ++i) {
    const int64_t batch = draw->Of<int64_t>({1, 2, 3, 5, 7, 8, 16, 17, 33});
    RandomCase other = changed;
    ChangeBatches(&other.net, TEST, [&](int64_t) { return batch; });
    const Outcome outcome = Without(Run(other, way), kinds);
    if (Declined(outcome)) continue;
    // Sources of both phases train with another batch, so only the start weights are the same.
    const bool same_training = BatchesOf(other.net, TRAIN) == BatchesOf(changed.net, TRAIN);
    const std::string why =
        same_training ? Compared(changed, outcome, first, kRounding, folder, way)
                      : Compared(changed, AtStart(outcome), AtStart(first), kRounding, folder, way);
    if (!why.empty()) return "a test batch of " + std::to_string(batch) + ": " + why;
  }
  return "";
}

DOPPIO_REGISTER(Relations, "test_batch", {&CheckTestBatch, &HasTests});

}  // namespace
}  // namespace doppio

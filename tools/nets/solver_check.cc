#include "tools/nets/solver_check.h"

#include <algorithm>
#include <string>

#include "core/net/store/snapshot.h"
#include "core/net/store/weights.h"
#include "solvers/scores/average_precision.h"
#include "solvers/trainer/schedule.h"
#include "solvers/trainer/trainer.h"
#include "solvers/update/loss_scaler.h"
#include "solvers/update/lr_policy.h"
#include "solvers/update/rule_check.h"
#include "tools/nets/lint.h"
#include "tools/nets/unusual_values.h"

namespace doppio {

void CheckRules(const SolverSpec& spec) {
  ErrorCollector mistakes;
  mistakes.Try([&] { LossScalingOf(spec.train.net, spec.train.places); });
  mistakes.Try([&] { CheckEnd(spec); });
  mistakes.Try([&] { ReadPrecisionRule(spec.param, spec.places); });
  mistakes.Try([&] { LrPolicy(spec.param, spec.places, std::max(1, spec.param.max_iter())); });
  mistakes.Try([&] { CheckRule(spec.param, spec.places); });
  mistakes.ThrowIfAny();
}

void CheckFiles(const SolverSpec& spec) {
  ErrorCollector mistakes;
  if (WritesSnapshots(spec.param))
    mistakes.Try([&] { CheckWritable(spec.param.snapshot_prefix()); });
  for (const std::string& file : WeightFilesOf(spec.param))
    mistakes.Try([&] { ReadWeights(file); });
  mistakes.ThrowIfAny();
}

std::vector<Warning> WarningsOf(const SolverSpec& spec) {
  std::vector<Warning> warnings = spec.warnings;
  const auto add = [&](const std::vector<Warning>& more) {
    for (const Warning& w : more) {
      // The nets for training and tests are often the same file, which would give the same
      // warnings.
      const bool known = std::any_of(warnings.begin(), warnings.end(), [&](const Warning& other) {
        return other.at.ToString() == w.at.ToString() && other.message == w.message;
      });
      if (!known) warnings.push_back(w);
    }
  };
  add(UnusualValues(spec.param, spec.places));
  add(IgnoredFields(spec.param, spec.places));
  add(IgnoredFields(spec.train.net, spec.train.places));
  for (const NetSource& test : spec.tests) add(IgnoredFields(test.net, test.places));
  return warnings;
}

Graph AssumedGraph(NetOptions options, const NetSource& source) {
  options.phase = source.state.phase();
  options.data = DataMode::kAssume;
  return MakeGraph(MakeNetSpec(source.net, source.places, source.state, options));
}

std::vector<Error> MissingFiles(const Graph& graph) {
  std::vector<Error> missing;
  for (const Node& node : graph.nodes) {
    if (node.shape.missing) missing.push_back(*node.shape.missing);
  }
  return missing;
}

}  // namespace doppio

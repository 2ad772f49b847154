// Activations in 16 bits change losses and weights by what the rounding of values explains.
// bfloat16 keeps 8 significant bits, half precision 11 (docs/precision.md).
#include <algorithm>
#include <cmath>

#include "core/net/graph/storage.h"
#include "tests/random/layer_row.h"
#include "tests/random/pruned.h"
#include "tests/random/relation.h"

namespace doppio {
namespace {

constexpr double kBFloat16 = 0.05, kFloat16 = 0.008;

bool NarrowApplies(const RandomCase& random_case) {
  return RequestedStorage(random_case.net, std::nullopt) == DType::kFloat32;
}

// Returns the case with SGD unless it has Nesterov. Other rules divide a gradient by its size, so
// that the rounding of terms whose sum is 0, such as the gradient of a bias before BatchNorm, moves
// a parameter as far as any gradient.
RandomCase WithPlainRule(RandomCase random_case) {
  SolverParameter& solver = random_case.solver;
  if (solver.type() == "SGD" || solver.type() == "Nesterov") return random_case;
  solver.set_type("SGD");
  solver.set_base_lr(0.001f);
  return random_case;
}

// Returns true if a loss or a weight is so large that other values may exceed the range of half
// precision.
bool LeavesRange(const Outcome& outcome) {
  constexpr double kMost = 1e4;
  return std::any_of(outcome.numbers.begin(), outcome.numbers.end(), [&](const auto& number) {
    return std::any_of(number.second.begin(), number.second.end(),
                       [&](double value) { return !(std::abs(value) <= kMost); });
  });
}

std::string CheckNarrow(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  const bool half = draw->Chance(0.5);
  const auto excluded = [&](const LayerParameter& layer) {
    // Probabilities below the range of half precision are 0, whose logarithm is cut off.
    return (half && layer.type() == "MultinomialLogisticLoss") ||
           (TraitsOfLayer(layer) & (LayerRow::kJumps | LayerRow::kOutside)) != 0;
  };
  const std::optional<RandomCase> pruned = Pruned(WithPlainRule(random_case), excluded, folder);
  if (!pruned) return "";
  Way wide;
  wide.folder = folder;
  Way narrow = wide;
  narrow.stored = half ? DType::kFloat16 : DType::kBFloat16;
  if (draw->Chance(0.3)) narrow.engine = "reference";
  if (half) {
    // The default is dynamic and skips the first updates until gradients fit.
    narrow.loss_scaling = LossScaling();
    narrow.loss_scaling->scale = 64;
  }
  const std::set<std::string> kinds = {"output", "test", "mean", "history"};
  const Outcome exact = Without(Run(*pruned, wide), kinds);
  if (half && LeavesRange(exact)) {
    ++ProcessTally().diverged;
    return "";
  }
  return Compared(*pruned, Without(Run(*pruned, narrow), kinds), exact, half ? kFloat16 : kBFloat16,
                  folder, wide);
}

DOPPIO_REGISTER(Relations, "narrow", {&CheckNarrow, &NarrowApplies});

}  // namespace
}  // namespace doppio

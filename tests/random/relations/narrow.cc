// Activations in 16 bits change losses and weights by what the rounding of values explains.
// bfloat16 keeps 8 significant bits, half precision 11 (docs/precision.md).
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

std::string CheckNarrow(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  const bool half = draw->Chance(0.5);
  const std::optional<RandomCase> pruned =
      Pruned(random_case, LayerRow::kJumps | LayerRow::kOutside, folder);
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
  return Compared(*pruned, Without(Run(*pruned, narrow), kinds), Without(Run(*pruned, wide), kinds),
                  half ? kFloat16 : kBFloat16, folder, wide);
}

DOPPIO_REGISTER(Relations, "narrow", {&CheckNarrow, &NarrowApplies});

}  // namespace
}  // namespace doppio

// N replicas of a part of the batch train as one with the whole batch (docs/parallel.md), with
// --sync_bn if there is a BatchNorm.
#include <set>

#include "tests/random/batch.h"
#include "tests/random/divisible.h"
#include "tests/random/layer_row.h"
#include "tests/random/pruned.h"
#include "tests/random/relation.h"

namespace doppio {
namespace {

// Replicas sum the statistics of these layers over the batch in training.
bool IsNorm(const LayerParameter& layer) {
  return layer.type() == "BN" || layer.type() == "BatchNorm";
}

// Documented exceptions: carried states, random numbers below a Filter, and layers that read a
// loss.
bool NotForReplicas(const LayerParameter& layer) {
  const unsigned traits = LayerRow::kWholeBatch | LayerRow::kState | LayerRow::kOutside;
  return layer.type() == "Filter" || (!IsNorm(layer) && (TraitsOfLayer(layer) & traits) != 0);
}

std::string CheckReplicas(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  const int ranks = draw->Of<int>({2, 2, 3});
  const std::optional<RandomCase> pruned = Pruned(random_case, &NotForReplicas, folder);
  if (!pruned) return "";
  RandomCase whole = *pruned;
  MakeDivisible(&whole.net, ranks);
  Way alone;
  alone.folder = folder;
  if (ReadsLoss(whole, alone)) return "";
  Way together = alone;
  together.ranks = together.shares = ranks;
  together.threads = ranks * draw->Of<int>({1, 1, 2});
  together.sync_statistics = true;
  together.bucket_bytes = draw->Of<int64_t>({-1, 0, 100, 10'000});
  const Outcome divided = Run(whole, together);
  if (Declined(divided)) return "";
  // The train net's outputs are those of one rank's samples.
  const std::set<std::string> kinds = {"output"};
  return Compared(whole, Without(divided, kinds), Without(Run(whole, alone), kinds), kRounding,
                  folder, alone);
}

DOPPIO_REGISTER(Relations, "replicas", {&CheckReplicas, &Always});

}  // namespace
}  // namespace doppio

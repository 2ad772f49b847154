// Features that change no number alone change none together, unless the table of combinations
// refuses them (docs/combinations.md).
#include "tests/random/layer_row.h"
#include "tests/random/relation.h"

namespace doppio {
namespace {

std::string CheckCombined(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  Way plain;
  plain.folder = folder;
  plain.ranks = draw->Of<int>({1, 1, 2});
  Way combined = plain;
  combined.shard_update = draw->Chance(0.5);
  combined.keep_all = draw->Chance(0.3);
  combined.saving.segments = draw->Of<int>({0, 1, 1, 3});
  if (draw->Chance(0.3)) {
    combined.saving.activation_bytes = 0;
    combined.saving.min_offloaded_bytes = 1;
  }
  if (draw->Chance(0.2)) combined.place = "*=cpu:0";
  const Outcome outcome = Run(random_case, combined);
  std::string why;
  if (RefusedByTable(outcome, &why)) return why;
  return Compared(random_case, outcome, Run(random_case, plain), kRounding, folder, plain);
}

bool CombinedApplies(const RandomCase& random_case) {
  return HasNone(random_case, LayerRow::kOutside);
}

DOPPIO_REGISTER(Relations, "combined", {&CheckCombined, &CombinedApplies});

}  // namespace
}  // namespace doppio

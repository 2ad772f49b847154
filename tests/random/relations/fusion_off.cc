// Chains of layers that one kernel computes give the numbers of the layers one by one.
#include "tests/random/relation.h"

namespace doppio {
namespace {

std::string CheckFusionOff(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  Way fused;
  fused.folder = folder;
  if (draw->Chance(0.3)) fused.engine = "reference";
  Way single = fused;
  single.fusion = false;
  // Without fusion, and with memory of its own for each blob.
  single.keep_all = draw->Chance(0.5);
  return Compared(random_case, Run(random_case, fused), Run(random_case, single), kRounding,
                  folder);
}

DOPPIO_REGISTER(Relations, "fusion_off", {&CheckFusionOff, &Always});

}  // namespace
}  // namespace doppio

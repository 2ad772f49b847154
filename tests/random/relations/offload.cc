// Keeping activations elsewhere between forward and backward changes no bit, also together with
// computing some of them again.
#include "tests/random/relation.h"

namespace doppio {
namespace {

std::string CheckOffload(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  Way kept;
  kept.folder = folder;
  Way moved = kept;
  moved.saving.min_offloaded_bytes = 1;  // the blocks of random nets are small
  moved.saving.activation_bytes = draw->Chance(0.5) ? 0 : draw->Int(1, 1 << 16);
  if (draw->Chance(0.3)) moved.saving.segments = draw->Of<int>({0, 2, 3});
  const Outcome outcome = Run(random_case, moved);
  // The net may need more than the limit even with all possible offloading.
  if (outcome.refused.find("--offload allows") != std::string::npos) return "";
  return Same(outcome, Run(random_case, kept));
}

DOPPIO_REGISTER(Relations, "offload", {&CheckOffload, &Always});

}  // namespace
}  // namespace doppio

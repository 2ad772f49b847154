// Computing activations again instead of keeping them changes no bit.
#include "tests/random/relation.h"

namespace doppio {
namespace {

std::string CheckRecompute(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  Way kept;
  kept.folder = folder;
  kept.threads = draw->Of<int>({1, 2, 3});
  Way again = kept;
  again.saving.segments = draw->Of<int>({0, 2, 3, 5, 1000});
  again.saving.light = draw->Chance(0.3);
  return Same(Run(random_case, again), Run(random_case, kept));
}

DOPPIO_REGISTER(Relations, "recompute", {&CheckRecompute, &Always});

}  // namespace
}  // namespace doppio

// A batch that is read in parts by iter_size trains as the whole batch, if all losses are means
// over the samples. Clipping sees the sum of the parts' gradients, so its limit grows with the
// parts.
#include <algorithm>

#include "tests/random/divisible.h"
#include "tests/random/pruned.h"
#include "tests/random/relation.h"

namespace doppio {
namespace {

std::string CheckIterSize(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  const int parts = draw->Of<int>({2, 2, 3, 4});
  const std::optional<RandomCase> pruned = Pruned(random_case, &NeedsWholeBatch, folder);
  if (!pruned) return "";
  RandomCase whole = *pruned;
  MakeDivisible(&whole.net, parts);
  Way at_once;
  at_once.folder = folder;
  if (!LossesAreMeans(whole, at_once)) return "";
  RandomCase divided = whole;
  divided.solver.set_iter_size(parts * std::max(1, whole.solver.iter_size()));
  if (whole.solver.clip_gradients() >= 0)
    divided.solver.set_clip_gradients(static_cast<float>(parts) * whole.solver.clip_gradients());
  Way in_parts = at_once;
  in_parts.shares = parts;
  const Outcome outcome = Run(divided, in_parts);
  if (Declined(outcome)) return "";
  // The outputs of the train net are those of the last part.
  return Compared(whole, Without(outcome, {"output"}), Without(Run(whole, at_once), {"output"}),
                  kRounding, folder, at_once);
}

DOPPIO_REGISTER(Relations, "iter_size", {&CheckIterSize, &Always});

}  // namespace
}  // namespace doppio

// The memory of a draft as its options want it: with everything kept, or with less.
#include <cmath>

#include "core/net/plan_draft.h"

namespace doppio {
namespace {

Draft Placed(Draft draft, int segments, const Plan& plan) {
  MakeSchedule(segments, plan, &draft);
  PlaceMemory(plan, &draft);
  draft.memory.activations = PlaceBlocks(&draft.blocks);
  return draft;
}

// Segments as long as there are of them is what n layers of one size need least memory with; what layers really keep
// and what crosses between them makes the best number another one, but not a much larger one.
Draft BestPlaced(const Draft& draft, const Plan& plan, Draft best) {
  const int most = 2 * static_cast<int>(std::sqrt(static_cast<double>(draft.items.size())));
  for (int segments = 2; segments <= most; ++segments) {
    Draft tried = Placed(draft, segments, plan);
    if (tried.memory.activations < best.memory.activations) best = std::move(tried);
  }
  return best;
}

}  // namespace

void PlanMemory(const Plan& plan, Draft* draft) {
  const PlanOptions& options = draft->options;
  const MemorySaving saving = options.saving;
  Draft placed = Placed(*draft, 1, plan);
  const int64_t plain = placed.memory.activations;
  if (options.backward && !options.keep_all) {
    if (saving.segments > 1) placed = Placed(*draft, saving.segments, plan);
    if (saving.segments == 0) placed = BestPlaced(*draft, plan, std::move(placed));
    if (saving.segments != 1 && placed.saved.segments == 1) {
      placed.notes.push_back("computing activations again would save no memory, so all are kept");
    }
    if (saving.activation_bytes >= 0) ChooseOffloads(&placed);
    if (saving.activation_bytes == 0 && placed.saved.offloaded == 0) {
      placed.notes.push_back("no activation is large and idle for long, so none waits in host memory");
    }
  }
  if (options.keep_all && (saving.segments != 1 || saving.activation_bytes >= 0)) {
    placed.notes.push_back("debug_info keeps every blob, so nothing is computed again or waits in host memory");
  }
  placed.saved.plain_activations = plain;
  *draft = std::move(placed);
}

}  // namespace doppio

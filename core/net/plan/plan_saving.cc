// Plans the memory of a draft as its options request: keeps everything, or saves memory.
#include <algorithm>
#include <utility>

#include "core/net/plan/plan_draft.h"

namespace doppio {
namespace {

Draft Placed(Draft draft, int segments, const Plan& plan) {
  MakeSchedule(segments, plan, &draft);
  PlaceValues(&draft);
  if (draft.options.backward) PlaceGradients(&draft);
  PlaceKernelMemory(plan, &draft);
  draft.arenas = PlaceBlocksOf(draft.block_place, draft.devices.size(), &draft.blocks);
  draft.memory.activations = TotalBytes(draft.arenas);
  return draft;
}

// Tries increasing numbers of segments, each about a quarter larger. More segments need less memory
// each, but more values cross between them. Among the trials within 5% of the least memory, chooses
// the one with the least work.
Draft BestPlaced(const Draft& draft, const Plan& plan, Draft plain) {
  constexpr double kClose = 1.05;
  struct Trial {
    int segments;
    int64_t bytes;
    double work;
  };
  std::vector<Trial> trials = {{1, plain.memory.activations, 0}};
  int64_t least = plain.memory.activations;
  const int most = static_cast<int>(draft.items.size());
  for (int segments = 2; segments <= most; segments += std::max(1, segments / 4)) {
    const Draft tried = Placed(draft, segments, plan);
    trials.push_back({segments, tried.memory.activations, tried.saved.work_recomputed});
    least = std::min(least, tried.memory.activations);
  }
  const Trial* best = nullptr;
  for (const Trial& trial : trials) {
    if (static_cast<double>(trial.bytes) > kClose * static_cast<double>(least)) continue;
    if (best == nullptr || trial.work < best->work ||
        (trial.work == best->work && trial.bytes < best->bytes)) {
      best = &trial;
    }
  }
  return best->segments == 1 ? std::move(plain) : Placed(draft, best->segments, plan);
}

}  // namespace

std::vector<int64_t> PlaceBlocksOf(const std::vector<int>& places, size_t devices,
                                   std::vector<Lifetime>* blocks) {
  std::vector<int64_t> bytes;
  for (size_t device = 0; device < devices; ++device) {
    std::vector<size_t> chosen;
    std::vector<Lifetime> its;
    for (size_t b = 0; b < blocks->size(); ++b) {
      if (places[b] != static_cast<int>(device)) continue;
      chosen.push_back(b);
      its.push_back((*blocks)[b]);
    }
    bytes.push_back(PlaceBlocks(&its));
    for (size_t i = 0; i < chosen.size(); ++i) (*blocks)[chosen[i]].offset = its[i].offset;
  }
  return bytes;
}

void PlanMemory(const Plan& plan, Draft* draft) {
  const PlanOptions& options = draft->options;
  const MemorySaving saving = options.saving;
  Draft placed = Placed(*draft, 1, plan);
  const int64_t plain = placed.memory.activations;
  if (options.backward && !options.keep_all) {
    if (saving.segments > 1) placed = Placed(*draft, saving.segments, plan);
    if (saving.segments == 0) placed = BestPlaced(*draft, plan, std::move(placed));
    if (saving.segments != 1 && placed.saved.segments == 1) {
      placed.notes.push_back("recomputing activations would save no memory, so all are kept");
    }
    if (saving.activation_bytes >= 0) ChooseOffloads(&placed);
    if (saving.activation_bytes == 0 && placed.saved.offloaded == 0) {
      placed.notes.push_back(
          "no activation is large and unused for long, so none is offloaded to host memory");
    }
  }
  if (options.keep_all && (saving.segments != 1 || saving.activation_bytes >= 0)) {
    placed.notes.push_back(
        "debug_info keeps every blob, so nothing is recomputed or offloaded to host memory");
  }
  placed.saved.plain_activations = plain;
  *draft = std::move(placed);
  PlaceConstantGradients(draft);
}

}  // namespace doppio

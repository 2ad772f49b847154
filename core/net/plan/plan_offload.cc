// Chooses the blocks that are kept in host memory while they are idle, and when they are copied.
#include <algorithm>
#include <optional>

#include "core/net/plan/plan_draft.h"

namespace doppio {
namespace {

// Number of items whose computation may hide a copy: from a block's last use until its memory is
// overwritten, and from the start of the copy back until the next use.
constexpr int kItemsToCopy = 3;
// Shortest hole, in items, that is worth an offload: at the turn from forward to backward, shorter
// holes save nothing.
constexpr int kMinHole = 2 * kItemsToCopy;

// Returns the longest time that a block is alive but not used, minus the time for the copies.
std::optional<Offload> IdleTime(const Lifetime& block, std::vector<int> uses) {
  std::sort(uses.begin(), uses.end());
  std::optional<Offload> best;
  for (size_t i = 1; i < uses.size(); ++i) {
    const bool lost = std::any_of(block.holes.begin(), block.holes.end(), [&](const Span& hole) {
      return hole.first > uses[i - 1] && hole.last < uses[i];
    });
    Offload idle;
    idle.last_use = uses[i - 1];
    idle.next_use = uses[i];
    idle.hole_begin = idle.last_use + kItemsToCopy + 1;
    idle.hole_end = idle.next_use - kItemsToCopy - 1;
    const int length = idle.hole_end - idle.hole_begin + 1;
    if (lost || length < kMinHole) continue;
    if (!best || length > best->hole_end - best->hole_begin + 1) best = idle;
  }
  return best;
}

// Makes holes for the first `count` candidates, computes all offsets, and returns the total bytes.
int64_t Place(const std::vector<Offload>& candidates, size_t count, std::vector<Lifetime>* blocks) {
  for (size_t i = 0; i < count; ++i) {
    const Offload& offload = candidates[i];
    (*blocks)[offload.block].holes.push_back({offload.hole_begin, offload.hole_end});
  }
  return PlaceBlocks(blocks);
}

}  // namespace

OffloadSteps::OffloadSteps(const std::vector<Offload>& offloads) {
  const auto add = [&](StepKind kind, std::map<int, std::vector<PlanStep>>* steps, auto time) {
    for (size_t slot = 0; slot < offloads.size(); ++slot) {
      PlanStep& step = (*steps)[time(offloads[slot])].emplace_back();
      step.kind = kind;
      step.slot = static_cast<int>(slot);
    }
  };
  add(StepKind::kSave, &after, [](const Offload& o) { return o.last_use; });
  add(StepKind::kSaved, &before, [](const Offload& o) { return o.hole_begin; });
  add(StepKind::kFetch, &before, [](const Offload& o) { return o.hole_end + 1; });
  add(StepKind::kFetched, &before, [](const Offload& o) { return o.next_use; });
}

void ChooseOffloads(Draft* draft) {
  const MemorySaving& saving = draft->options.saving;
  std::vector<Offload> candidates;
  for (size_t b = 0; b < draft->blocks.size(); ++b) {
    const Lifetime& block = draft->blocks[b];
    if (block.bytes < saving.min_offloaded_bytes) continue;
    std::optional<Offload> idle = IdleTime(block, draft->uses[b]);
    if (!idle) continue;
    idle->block = static_cast<int>(b);
    candidates.push_back(*idle);
  }
  // Candidates that free the most bytes for the longest time come first.
  auto merit = [&](const Offload& o) {
    return static_cast<double>(draft->blocks[o.block].bytes) * (o.hole_end - o.hole_begin + 1);
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Offload& a, const Offload& b) { return merit(a) > merit(b); });

  auto bytes_with = [&](size_t count) {
    std::vector<Lifetime> blocks = draft->blocks;
    return Place(candidates, count, &blocks);
  };
  size_t few = 0, enough = candidates.size();
  const int64_t least = bytes_with(enough);
  // Without a limit, stays within 5% of the least memory, to avoid copies that save hardly
  // anything.
  const int64_t limit = saving.activation_bytes > 0 ? saving.activation_bytes : least + least / 20;
  if (draft->memory.activations <= limit) return;
  if (least > limit) {
    throw UsageError(
        "activations need " + std::to_string(least >> 20) +
        " MiB even with all possible offloading, more than the " + std::to_string(limit >> 20) +
        " MiB that --offload allows; allow more, reduce batch_size and increase iter_size by the "
        "same factor, or also recompute activations in backward (--recompute)");
  }
  while (few < enough) {
    const size_t middle = (few + enough) / 2;
    if (bytes_with(middle) <= limit) {
      enough = middle;
    } else {
      few = middle + 1;
    }
  }
  candidates.resize(enough);
  draft->memory.activations = Place(candidates, enough, &draft->blocks);
  draft->arenas = {draft->memory.activations};
  for (const Offload& offload : candidates) {
    draft->saved.host_bytes += draft->blocks[offload.block].bytes;
  }
  draft->saved.offloaded = static_cast<int>(enough);
  draft->offloads = std::move(candidates);
}

}  // namespace doppio

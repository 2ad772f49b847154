#include "core/device/arena.h"

#include <algorithm>
#include <numeric>

namespace doppio {
namespace {

constexpr int64_t kBlockAlignment = 256;

// Returns the first step at or after `step` that is in no hole of `life`.
int FirstStepAfterHoles(const Lifetime& life, int step) {
  for (bool moved = true; moved;) {
    moved = false;
    for (const Span& hole : life.holes) {
      if (step < hole.first || step > hole.last) continue;
      step = hole.last + 1;
      moved = true;
    }
  }
  return step;
}

bool AliveTogether(const Lifetime& a, const Lifetime& b) {
  const int last = std::min(a.last, b.last);
  int step = std::max(a.first, b.first);
  while (step <= last) {
    const int next = FirstStepAfterHoles(b, FirstStepAfterHoles(a, step));
    if (next == step) return true;
    step = next;
  }
  return false;
}

// Returns the offset of the smallest gap that fits `block`, among the placed blocks that are alive
// at the same time as `block`; the end of these blocks if no gap fits.
int64_t FindGap(const Lifetime& block, const std::vector<const Lifetime*>& placed_by_offset) {
  int64_t best = -1, best_gap = 0, end = 0;
  for (const Lifetime* other : placed_by_offset) {
    if (!AliveTogether(block, *other)) continue;
    const int64_t gap = other->offset - end;
    if (gap >= block.bytes && (best < 0 || gap < best_gap)) {
      best = end;
      best_gap = gap;
    }
    end = std::max(end, other->offset + PlacedBytes(other->bytes));
  }
  return best >= 0 ? best : end;
}

}  // namespace

int64_t PlacedBytes(int64_t bytes) {
  return (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
}

int64_t PlaceBlocks(std::vector<Lifetime>* blocks) {
  std::vector<size_t> order(blocks->size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return (*blocks)[a].bytes > (*blocks)[b].bytes; });
  std::vector<const Lifetime*> placed;
  int64_t total = 0;
  for (size_t i : order) {
    Lifetime& block = (*blocks)[i];
    if (block.bytes == 0) {  // sorted last, so that it would move no other block
      block.offset = 0;
      continue;
    }
    block.offset = FindGap(block, placed);
    auto after = std::upper_bound(
        placed.begin(), placed.end(), &block,
        [](const Lifetime* a, const Lifetime* b) { return a->offset < b->offset; });
    placed.insert(after, &block);
    total = std::max(total, block.offset + PlacedBytes(block.bytes));
  }
  return total;
}

}  // namespace doppio

#include "tests/double/machine/range_list.h"

#include <algorithm>

namespace doppio::gpu_double {
namespace {

int64_t GapBetween(const Access& a, const Access& b) {
  return static_cast<const char*>(b.at) - (static_cast<const char*>(a.at) + a.bytes);
}

}  // namespace

void RangeList::Add(const char* at, int64_t bytes, bool writes) {
  Part& part = parts_[writes ? 1 : 0];
  const Access added = {at, bytes, writes, 0};
  if (!part.ranges.empty() && part.ranges.back().gap == 0 &&
      GapBetween(part.ranges.back(), added) == 0) {
    part.ranges.back().bytes += bytes;
    return;
  }
  part.ranges.push_back(added);
  // Merges only when there are twice too many ranges, so that the cost per range stays small.
  if (part.ranges.size() > 2 * kMost) Thin(&part);
}

void RangeList::Thin(Part* part) {
  for (; part->ranges.size() > kMost; part->merged_gap *= 2) {
    auto kept = part->ranges.begin();
    for (auto next = kept + 1; next != part->ranges.end(); ++next) {
      const int64_t gap = GapBetween(*kept, *next);
      // Long ranges without gaps prove more races, so they are not merged.
      if (gap <= part->merged_gap && std::min(kept->bytes, next->bytes) <= part->merged_gap) {
        kept->bytes += gap + next->bytes;
        kept->gap = std::max({kept->gap, next->gap, gap});
      } else {
        *++kept = *next;
      }
    }
    part->ranges.erase(kept + 1, part->ranges.end());
  }
}

void RangeList::EndBlock() {
  for (Part& part : parts_) {
    if (part.ranges.size() > kMost) Thin(&part);
    all_.insert(all_.end(), part.ranges.begin(), part.ranges.end());
    part = Part();
  }
}

}  // namespace doppio::gpu_double

#include "parallel/reduce/buckets.h"

namespace doppio {

std::vector<size_t> CutBuckets(const std::vector<GradientSlice>& slices, int64_t least_bytes) {
  std::vector<size_t> ends;
  size_t first = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].end - slices[first].begin < least_bytes && i + 1 < slices.size()) continue;
    ends.push_back(i + 1);
    first = i + 1;
  }
  return ends;
}

}  // namespace doppio

// Splits gradients into the messages that ranks exchange while backward runs. A pure function, so
// that a prediction of training splits as training does.
#ifndef DOPPIO_PARALLEL_REDUCE_BUCKETS_H_
#define DOPPIO_PARALLEL_REDUCE_BUCKETS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace doppio {

// The byte range [begin, end) of one gradient in the arena of gradients.
struct GradientSlice {
  int64_t begin = 0, end = 0;
};

// Returns, for each bucket, the index one past its last slice. `slices` must be in the order in
// which backward completes them, which is also their order in memory. A bucket spans at least
// `least_bytes`; the last one may span less.
std::vector<size_t> CutBuckets(const std::vector<GradientSlice>& slices, int64_t least_bytes);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_BUCKETS_H_

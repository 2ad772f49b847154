// How gradients are cut into the messages that ranks exchange while backward goes on. Pure, so that
// what predicts training cuts as training does.
#ifndef DOPPIO_PARALLEL_REDUCE_BUCKETS_H_
#define DOPPIO_PARALLEL_REDUCE_BUCKETS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace doppio {

// Where one gradient lies among all of them, in bytes.
struct GradientSlice {
  int64_t begin = 0, end = 0;
};

// For each bucket the index behind its last slice. Slices come in the order in which backward
// finishes them, which is that of their places. A bucket takes slices until it spans at least
// `least_bytes`; the last one may span less.
std::vector<size_t> CutBuckets(const std::vector<GradientSlice>& slices, int64_t least_bytes);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_BUCKETS_H_

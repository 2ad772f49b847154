// Chooses the size of the buckets in which gradients are exchanged, for --bucket_mb=auto.
#ifndef DOPPIO_PARALLEL_REDUCE_BUCKET_SIZE_H_
#define DOPPIO_PARALLEL_REDUCE_BUCKET_SIZE_H_

#include <cstdint>

#include "core/net/contract/communicator.h"
#include "core/net/store/params.h"

namespace doppio {

// The value of ReducerOptions::bucket_bytes and ScalingOptions::bucket_bytes that leaves the size
// to BestBucketBytes.
constexpr int64_t kAutoBucketBytes = -1;

// Returns the size of the buckets with which an exchange of `gradient_bytes` is shortest, if a sum
// over all ranks takes `message_ms` and `byte_ms` more for each byte. With buckets of b bytes, the
// exchange of g bytes pays for g / b messages, and nothing hides the last bucket, which is complete
// only after backward: g / b message_ms + b byte_ms. This is least for b = sqrt(g message_ms /
// byte_ms). The result is a power of two from 64 KiB to 64 MiB, so that noise in the times rarely
// changes it.
int64_t BestBucketBytes(int64_t gradient_bytes, double message_ms, double byte_ms);

// Returns `bucket_bytes`; for kAutoBucketBytes measures sums over the ranks of `world`, in the
// memory of `params`'s device, and returns the best size for `params`, which is the same on all
// ranks. Rank 0 logs it. Collective if `bucket_bytes` is kAutoBucketBytes.
int64_t BucketBytesFor(const World& world, const ParamStore& params, int64_t bucket_bytes);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_BUCKET_SIZE_H_

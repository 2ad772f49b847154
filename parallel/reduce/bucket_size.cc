#include "parallel/reduce/bucket_size.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

#include "core/base/bytes.h"
#include "core/base/log.h"
#include "parallel/reduce/link_timer.h"

namespace doppio {

int64_t BestBucketBytes(int64_t gradient_bytes, double message_ms, double byte_ms) {
  constexpr double kLeast = 16, kMost = 26;  // binary logarithms of 64 KiB and 64 MiB
  const double best =
      std::sqrt(static_cast<double>(gradient_bytes) * message_ms / std::max(byte_ms, 1e-15));
  const double power = std::round(std::log2(std::max(best, 1.0)));
  return int64_t{1} << static_cast<int>(std::clamp(power, kLeast, kMost));
}

int64_t BucketBytesFor(const World& world, const ParamStore& params, int64_t bucket_bytes) {
  if (bucket_bytes != kAutoBucketBytes) return bucket_bytes;
  constexpr int64_t kLargeBytes = int64_t{4} << 20;
  SumTimes times = TimeSums(world.bulk(), params.device(), kLargeBytes);
  // All ranks must cut the same buckets.
  world.control().Broadcast(&times, sizeof times, 0);
  const double byte_ms = std::max(times.large_ms - times.small_ms, 0.0) / kLargeBytes;
  const int64_t best = BestBucketBytes(
      params.arenas().grads().count() * ElementBytes(params.dtype()), times.small_ms, byte_ms);
  if (world.rank() == 0) {
    LOG(INFO) << "gradients are exchanged in buckets of " << Bytes(best) << std::setprecision(3)
              << ": the shortest sum over all ranks takes " << times.small_ms << " ms, and one of "
              << Bytes(kLargeBytes) << " " << times.large_ms << " ms";
  }
  return best;
}

}  // namespace doppio

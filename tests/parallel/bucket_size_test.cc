#include "parallel/reduce/bucket_size.h"

#include <gmock/gmock.h>

#include <mutex>

#include "parallel/world/thread_world.h"
#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"

namespace doppio {
namespace {

constexpr int64_t kMiB = 1 << 20;

TEST(BucketSize, BalancesMessagesAndTheLastBucket) {
  // sqrt(64 MiB * 0.25 ms / (1 ms / MiB)) = 4 MiB: 16 messages cost 4 ms, as does the last bucket.
  EXPECT_EQ(BestBucketBytes(64 * kMiB, 0.25, 1.0 / kMiB), 4 * kMiB);
  EXPECT_EQ(BestBucketBytes(64 * kMiB, 0.3, 1.0 / kMiB), 4 * kMiB);
  EXPECT_EQ(BestBucketBytes(64 * kMiB, 1, 1.0 / kMiB), 8 * kMiB);
}

TEST(BucketSize, HasLimits) {
  EXPECT_EQ(BestBucketBytes(1000, 1e-6, 1), 64 << 10);
  EXPECT_EQ(BestBucketBytes(0, 1, 1), 64 << 10);
  EXPECT_EQ(BestBucketBytes(int64_t{1} << 40, 1, 1e-9), 64 * kMiB);
  EXPECT_EQ(BestBucketBytes(kMiB, 1, 0), 64 * kMiB);
}

TEST(BucketSize, IsTheSameOnAllRanks) {
  std::mutex mutex;
  std::vector<int64_t> sizes;
  RunThreadWorld(3, {}, [&](World& world) {
    const std::unique_ptr<Device> device = MakeCpuDevice();
    const ParamStore params(device.get(), DType::kFloat32, 1);
    EXPECT_EQ(BucketBytesFor(world, params, 5), 5);
    const int64_t bytes = BucketBytesFor(world, params, kAutoBucketBytes);
    std::lock_guard<std::mutex> lock(mutex);
    sizes.push_back(bytes);
  });
  EXPECT_THAT(sizes, testing::Each(sizes[0]));
  EXPECT_GE(sizes[0], 64 << 10);
}

// Sums in threads have the same bits in buckets of any size.
TEST(BucketSize, ChosenAtTheStartTrainsTheSame) {
  const ReplicasCase c(SmoothLeNet(), SolverText(3));
  ReducerOptions automatic;
  automatic.bucket_bytes = kAutoBucketBytes;
  EXPECT_EQ(LargestDifference(c.Together(2, kTotal / 2), c.Together(2, kTotal / 2, automatic)), 0);
}

}  // namespace
}  // namespace doppio

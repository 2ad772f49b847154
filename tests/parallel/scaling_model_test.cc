#include "parallel/reduce/scaling_model.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

// Forward takes 10 ms, backward 20 ms in two halves with a million gradients each, the update 2 ms.
RankTimes TwoLayers() {
  RankTimes times;
  times.forward_ms = 10;
  times.update_ms = 2;
  times.batch = 32;
  times.backward = {{10, {1'000'000}}, {10, {1'000'000}}};
  return times;
}

// Nodes of one rank without latency, on which two ranks exchange 4 MB in `ms_per_bucket`.
ScalingOptions Links(double ms_per_bucket) {
  ScalingOptions options;
  options.cluster = {Topology::kRing, {0, 1}, {0, 4 / ms_per_bucket}, 1};
  options.bucket_bytes = 0;
  return options;
}

ScalingPoint Two(const RankTimes& times, const ScalingOptions& options) {
  return PredictScaling(times, options, {2})[0];
}

TEST(ScalingModel, OneRankRunsAsItDoesAlone) {
  const ScalingPoint one = PredictScaling(TwoLayers(), Links(5), {1})[0];
  EXPECT_DOUBLE_EQ(one.iteration_ms, 32);
  EXPECT_DOUBLE_EQ(one.images_per_s, 1000);
  EXPECT_DOUBLE_EQ(one.efficiency, 1);
  EXPECT_DOUBLE_EQ(one.exposed_ms, 0);
  EXPECT_EQ(one.bound, "compute");
}

TEST(ScalingModel, BackwardHidesAllBucketsButTheLast) {
  // The first bucket is sent from 10 to 15 ms, the second one from 20 to 25 ms. Meanwhile, the
  // first bucket's update takes 1 of the 5 ms.
  const ScalingPoint two = Two(TwoLayers(), Links(5));
  EXPECT_DOUBLE_EQ(two.communication.across_ms, 10);
  EXPECT_DOUBLE_EQ(two.iteration_ms, 10 + 25 + 1);
  EXPECT_DOUBLE_EQ(two.exposed_ms, 4);
  EXPECT_DOUBLE_EQ(two.speedup, 2 * 32.0 / 36);
  EXPECT_DOUBLE_EQ(two.images_per_s, 64 * 1e3 / 36);
  EXPECT_EQ(two.bound, "across");
}

TEST(ScalingModel, BucketsTravelOneAtATime) {
  // The first bucket is sent from 10 to 40 ms, the second one from 40 to 70 ms; then follows the
  // second one's update.
  EXPECT_DOUBLE_EQ(Two(TwoLayers(), Links(30)).iteration_ms, 10 + 70 + 1);
}

TEST(ScalingModel, OneBucketOfTheWholeNetIsAllExposed) {
  ScalingOptions options = Links(5);
  options.bucket_bytes = int64_t{1} << 40;
  const ScalingPoint two = Two(TwoLayers(), options);
  EXPECT_DOUBLE_EQ(two.exposed_ms, 10);
  EXPECT_DOUBLE_EQ(two.iteration_ms, 42);
}

TEST(ScalingModel, HalfTheBitsTakeHalfTheTimeInTheSameBuckets) {
  ScalingOptions options = Links(5);
  options.reduce_bits = 16;
  const ScalingPoint two = Two(TwoLayers(), options);
  EXPECT_DOUBLE_EQ(two.communication.across_ms, 5);
  EXPECT_DOUBLE_EQ(two.exposed_ms, 1.5);
}

TEST(ScalingModel, AShardedUpdateGathersWeightsBehindUpdates) {
  // Each half of an exchange of a bucket takes 5 ms. The sums of the first bucket travel from 10 to
  // 15 ms, those of the second from 20 to 25 ms. A rank updates half of a bucket in 0.5 ms. The new
  // weights of the first bucket wait for the sums and travel from 25 to 30 ms, those of the second,
  // updated at 25.5 ms, from 30 to 35 ms.
  ScalingOptions options = Links(10);
  options.shard_update = true;
  const ScalingPoint two = Two(TwoLayers(), options);
  EXPECT_DOUBLE_EQ(two.update_ms, 1);
  EXPECT_DOUBLE_EQ(two.communication.across_ms, 20);
  EXPECT_DOUBLE_EQ(two.iteration_ms, 10 + 35);
  EXPECT_DOUBLE_EQ(two.exposed_ms, 45 - 31);
}

TEST(ScalingModel, AShardedUpdateRoundsGradientsButNotWeights) {
  // Sums take 2.5 ms each, from 10 and 20 ms, and weights 5 ms each, from 22.5 ms.
  ScalingOptions options = Links(10);
  options.shard_update = true;
  options.reduce_bits = 16;
  EXPECT_DOUBLE_EQ(Two(TwoLayers(), options).iteration_ms, 10 + 32.5);
}

TEST(ScalingModel, AShardedUpdateOfOneRankIsWhole) {
  ScalingOptions options = Links(5);
  options.shard_update = true;
  EXPECT_DOUBLE_EQ(PredictScaling(TwoLayers(), options, {1})[0].iteration_ms, 32);
}

TEST(ScalingModel, SaysWhatTheTimeGoesTo) {
  ScalingOptions options = Links(5);
  options.cluster.across = {1e5, 1e3};
  EXPECT_EQ(Two(TwoLayers(), options).bound, "latency");
  options.cluster = {Topology::kRing, {0, 0.1}, {0, 1}, 2};
  EXPECT_EQ(Two(TwoLayers(), options).bound, "inside");
  options.cluster = {Topology::kRing, {0, 1e6}, {0, 1}, 2};
  EXPECT_EQ(Two(TwoLayers(), options).bound, "compute");
}

TEST(ScalingModel, CopiesTakeTimeFromBackward) {
  // 4 MB take 5 ms and delay computing by 2 ms. The first bucket is sent from 10 to 15 ms, while
  // backward does 3 of its last 10 ms; backward ends at 22 ms, and the second bucket arrives at 27
  // ms.
  ScalingOptions options = Links(5);
  options.cluster.across.held_up_ms_per_gbyte = 500;
  const ScalingPoint two = Two(TwoLayers(), options);
  EXPECT_DOUBLE_EQ(two.communication.held_up_ms, 4);
  EXPECT_DOUBLE_EQ(two.iteration_ms, 10 + 27 + 1);
  EXPECT_EQ(two.bound, "across");
}

TEST(ScalingModel, CopiesMayTakeLongerThanTheLink) {
  // Each bucket delays computing by 20 ms, but the link needs only 5 ms: backward pauses from 10 to
  // 30 ms and ends at 40 ms, and the second bucket arrives at 60 ms.
  ScalingOptions options = Links(5);
  options.cluster.across.held_up_ms_per_gbyte = 5000;
  const ScalingPoint two = Two(TwoLayers(), options);
  EXPECT_DOUBLE_EQ(two.iteration_ms, 10 + 60 + 1);
  EXPECT_EQ(two.bound, "copies");
}

TEST(ScalingModel, BackwardMayEndWhileABucketTravels) {
  // Only the first half has gradients. From 10 to 50 ms their exchange delays computing by 20 ms,
  // so computing runs at half speed and ends at 30 ms.
  RankTimes times = TwoLayers();
  times.backward[1].gradients.clear();
  ScalingOptions options = Links(40);
  options.cluster.across.held_up_ms_per_gbyte = 5000;
  EXPECT_DOUBLE_EQ(Two(times, options).iteration_ms, 10 + 50 + 2);
}

TEST(ScalingModel, NetsWithoutGradientsHaveNothingToExchange) {
  RankTimes times = TwoLayers();
  for (BackwardPiece& piece : times.backward) piece.gradients.clear();
  EXPECT_DOUBLE_EQ(Two(times, Links(5)).efficiency, 1);
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include <cmath>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// Three samples of two channels, with means 2 and 2 and variances 2/3 and 8 (unbiased: 1 and 12).
LayerCase TwoChannels(const std::string& param) {
  LayerCase c("type: 'BatchNorm' " + param);
  c.Bottom({3, 2}, {1, 0, 2, 0, 3, 6});
  return c;
}

TEST(BatchNorm, NormalisesByTheBiasedVariance) {
  const double a = std::sqrt(1.5), b = std::sqrt(0.5);
  TwoChannels("batch_norm_param { eps: 0 }").ExpectTop({3, 2}, {-a, -b, 0, -b, a, 2 * b});
  const double c = std::sqrt(0.6);
  TwoChannels("batch_norm_param { eps: 1 }")
      .ExpectTop({3, 2}, {-c, -2.0 / 3, 0, -2.0 / 3, c, 4.0 / 3});
}

TEST(BatchNorm, KeepsDecayedSumsWithUnbiasedVariances) {
  TwoChannels("").ExpectParam(0, {2, 2}).ExpectParam(1, {1, 12}).ExpectParam(2, {1});
  TwoChannels("batch_norm_param { moving_average_fraction: 0.5 }")
      .Passes(2)
      .ExpectParam(0, {3, 3})
      .ExpectParam(1, {1.5, 18})
      .ExpectParam(2, {1.5});
  TwoChannels("")
      .Passes(3)
      .ExpectParam(0, {5.994002, 5.994002})
      .ExpectParam(1, {2.997001, 35.964012})
      .ExpectParam(2, {2.997001});
}

TEST_ON_DEVICES(BatchNorm, TestsByTheStoredStatistics) {
  const double a = 1 / std::sqrt(5.0), b = std::sqrt(0.5);
  auto expect = [&](LayerCase c) {
    // The running means are 2 and 3, the running variances 4 and 1.
    c.Param(0, {4, 6}).Param(1, {8, 2}).Param(2, {2});
    c.ExpectTop({3, 2}, {-a, -3 * b, 0, -3 * b, a, 3 * b});
    c.ExpectParam(0, {4, 6}).ExpectParam(1, {8, 2}).ExpectParam(2, {2});
    c.ExpectBottomGradient({1, 1, 1, 1, 2, 2}, {a, b, a, b, 2 * a, 2 * b})
        .ExpectGradient()
        .ExpectBackendsAgree();
  };
  const std::string eps = "eps: 1 }";
  expect(TwoChannels("batch_norm_param { " + eps).InPhase(TEST));
  expect(TwoChannels("batch_norm_param { use_global_stats: true " + eps));
  expect(TwoChannels("phase: TEST batch_norm_param { " + eps));
}

TEST(BatchNorm, MayTestByTheBatchesStatistics) {
  const double c = std::sqrt(0.6);
  TwoChannels("batch_norm_param { use_global_stats: false eps: 1 }")
      .InPhase(TEST)
      .ExpectTop({3, 2}, {-c, -2.0 / 3, 0, -2.0 / 3, c, 4.0 / 3})
      .ExpectParam(0, {2, 2})
      .ExpectGradient();
}

TEST(BatchNorm, TakesAStoredFactorOfZeroAsNoStatistics) {
  TwoChannels("batch_norm_param { eps: 0.25 }")
      .InPhase(TEST)
      .Param(0, {4, 6})
      .Param(1, {8, 2})
      .Param(2, {0})
      .ExpectTop({3, 2}, {2, 0, 4, 0, 6, 12});
}

TEST(BatchNorm, IsZeroForASingleValue) {
  LayerCase("type: 'BatchNorm'")
      .Bottom({1, 2}, {5, -7})
      .ExpectTop({1, 2}, {0, 0})
      .ExpectParam(1, {0, 0});
}

TEST(BatchNorm, DoesNotCancelFarFromZero) {
  const double a = std::sqrt(1.5);
  LayerCase("type: 'BatchNorm' batch_norm_param { eps: 0 }")
      .Bottom({3, 1}, {100000, 100001, 100002})
      .ExpectTop({3, 1}, {-a, 0, a});
}

TEST_ON_DEVICES(BatchNorm, AgreesWithDifferencesAndInEveryLayout) {
  for (const Shape& shape : {Shape{3, 5, 2, 1}, Shape{3, 3}, Shape{1, 2, 3}, Shape{4}}) {
    LayerCase c("type: 'BatchNorm'");
    c.RandomBottom(shape).ExpectTopShape(shape).ExpectGradient().ExpectBackendsAgree();
    c.InPlace().ExpectGradient().ExpectBackendsAgree();
  }
  LayerCase("type: 'BatchNorm'").RandomBottom({3, 19, 3, 2}).ExpectBackendsAgree();
}

// The shapes make the GPU use each of its algorithms for sums over channels.
TEST_ON_DEVICES(BatchNorm, AgreesForManyChannelsAndForLongOnes) {
  for (const Shape& shape : {Shape{40, 300}, Shape{33, 70, 2, 2}, Shape{2, 3, 20, 20}}) {
    LayerCase c("type: 'BatchNorm'");
    c.RandomBottom(shape).ExpectBackendsAgree();
    c.ExpectGpuKernel();
    c.ExpectNarrowOnGpu();
    c.ExpectNoGpuConversions();
  }
}

TEST_ON_DEVICES(BatchNorm, TakesThreeParamEntriesWhateverTheySay) {
  TwoChannels("param { lr_mult: 1 } param { lr_mult: 2 } param { lr_mult: 0 }")
      .ExpectParam(0, {2, 2})
      .ExpectBackendsAgree();
  TwoChannels("param { lr_mult: 0 }").ExpectParam(0, {2, 2});
}

TEST(BatchNorm, ExplainsMistakes) {
  const char* learned = "statistics of BatchNorm are not learned";
  TwoChannels("param { lr_mult: 1 }").ExpectMistake({learned, "lr_mult: 0"});
  TwoChannels("param { lr_mult: 0 } param { lr_mult: 2 }").ExpectMistake({learned});
  TwoChannels("batch_norm_param { stats_batch_size: 8 }")
      .ExpectMistake({"stats_batch_size", "not supported"});
  LayerCase("type: 'BatchNorm'").Bottom({}, {1}).ExpectMistake({"scalar", "batch axis"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

const std::string kQuarter = "type: 'Dropout' dropout_param { dropout_ratio: 0.25 ";

LayerCase Ones(const std::string& layer, const Shape& shape) {
  LayerCase c(layer);
  c.Bottom(shape, std::vector<double>(static_cast<size_t>(shape.count()), 1));
  return c;
}

// Checks gradients and backends on random values of each shape, also in place, and that every
// stored type has a kernel.
void ExpectAgreement(const std::string& layer, const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes) {
    LayerCase c(layer);
    c.RandomBottom(shape).ExpectTopShape(shape).ExpectGradient().ExpectBackendsAgree();
    c.InPlace().ExpectGradient().ExpectBackendsAgree();
    c.ExpectGpuKernel();
    EXPECT_TRUE(c.NarrowOnCpu());
    c.ExpectNarrowOnGpu();
    c.ExpectNoGpuConversions();
  }
}

TEST_ON_DEVICES(Dropout, IsTheIdentityInTestsAndAtRatioZero) {
  LayerCase c("type: 'Dropout'");
  c.Bottom({3, 1}, {1, -2, 3})
      .InPhase(TEST)
      .ExpectTop({3, 1}, {1, -2, 3})
      .ExpectGradient()
      .ExpectBackendsAgree();
  EXPECT_EQ(c.Engine(), "view");
  LayerCase("type: 'Dropout' phase: TEST").Bottom({2}, {1, -2}).ExpectTop({2}, {1, -2});
  LayerCase("type: 'Dropout' dropout_param { dropout_ratio: 0 }")
      .Bottom({2}, {1, -2})
      .ExpectTop({2}, {1, -2});
}

TEST(Dropout, DropsTheRatioAndScalesTheOthers) {
  const std::vector<double> top = Ones(kQuarter + "}", {3, 2000}).Top();
  const auto dropped = std::count(top.begin(), top.end(), 0.0);
  for (double y : top) ASSERT_NEAR(y, y == 0 ? 0 : 4.0 / 3, 1e-6);
  // Five standard deviations of 6000 draws.
  EXPECT_NEAR(static_cast<double>(dropped), 1500, 5 * 33.6);
}

TEST(Dropout, DrawsDifferentlyForEachPassAndEachSeed) {
  const std::vector<double> top = Ones(kQuarter + "}", {1, 64}).Top();
  EXPECT_EQ(Ones(kQuarter + "}", {1, 64}).Top(), top);
  EXPECT_NE(Ones(kQuarter + "}", {1, 64}).Passes(2).Top(), top);
  EXPECT_NE(Ones(kQuarter + "random_seed: 4 }", {1, 64}).Top(), top);
  // 3 is also the net's seed.
  EXPECT_EQ(Ones(kQuarter + "random_seed: 3 }", {1, 64}).Top(), top);
}

TEST(Dropout, DependsOnTheSampleAndNotOnTheBatch) {
  const std::vector<double> one = Ones(kQuarter + "}", {1, 300}).Top();
  std::vector<double> three = Ones(kQuarter + "}", {3, 300}).Top();
  EXPECT_NE(std::vector<double>(three.begin() + 300, three.begin() + 600), one);
  three.resize(300);
  EXPECT_EQ(three, one);
  // The second sample of the run, in a batch by itself.
  const std::vector<double> second = Ones(kQuarter + "}", {1, 300}).Passes(2).Top();
  const std::vector<double> batch = Ones(kQuarter + "}", {2, 300}).Top();
  EXPECT_EQ(std::vector<double>(batch.begin() + 300, batch.end()), second);
}

TEST_ON_DEVICES(Dropout, AgreesWithDifferencesAndInEveryLayout) {
  ExpectAgreement("type: 'Dropout'", {{3, 5, 3, 1}, {1, 7}, {}, {3, 304}});
}

// The shapes have whole and partial packs of channels, and positions that share their draws within
// a row of four, across two rows, and not at all.
TEST_ON_DEVICES(Dropout, DropsTheSameElementsInEveryLayout) {
  for (const Shape& shape :
       {Shape{3, 8, 2, 4}, Shape{1, 16, 3, 3}, Shape{3, 24, 1, 1}, Shape{3, 9, 5},
        Shape{1, 1, 6, 3}, Shape{2, 12, 2, 1, 3}, Shape{3, 300}}) {
    LayerCase("type: 'Dropout'").RandomBottom(shape).ExpectBackendsAgree();
  }
}

TEST_ON_DEVICES(Dropout, DropsInTestsToo) {
  const std::string sampled = kQuarter + "sample_weights_test: true }";
  LayerCase c = Ones(sampled, {3, 2000});
  const std::vector<double> top = c.InPhase(TEST).Top();
  EXPECT_EQ(top, Ones(kQuarter + "}", {3, 2000}).Top());
  EXPECT_NE(Ones(sampled, {3, 2000}).InPhase(TEST).Passes(2).Top(), top);
  LayerCase(sampled)
      .RandomBottom({3, 5, 3, 1})
      .InPhase(TEST)
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST_ON_DEVICES(Dropout, ScalesInTestsInstead) {
  const std::string later = kQuarter + "scale_train: false }";
  std::vector<double> want = Ones(kQuarter + "}", {3, 50}).Top();
  for (double& y : want) y = y == 0 ? 0 : 1;
  Ones(later, {3, 50}).ExpectTop({3, 50}, want).ExpectGradient().ExpectBackendsAgree();
  LayerCase(later)
      .Bottom({2, 2}, {1, -2, 4, 0})
      .InPhase(TEST)
      .ExpectTop({2, 2}, {0.75, -1.5, 3, 0})
      .ExpectBottomGradient({4, 8, 0, 4}, {3, 6, 0, 3})
      .ExpectBackendsAgree();
}

const std::string kSpatial = "type: 'SpatialDropout' spatial_dropout_param { dropout_ratio: 0.25 }";

const std::string kPath =
    "type: 'Dropout' dropout_param { dropout_ratio: 0.25 whole_samples: true ";

TEST(DropPath, DropsWholeSamples) {
  const std::vector<double> top = Ones(kPath + "}", {2000, 3, 2}).Top();
  int dropped = 0;
  for (size_t n = 0; n < 2000; ++n) {
    for (size_t i = 1; i < 6; ++i) ASSERT_EQ(top[6 * n + i], top[6 * n]);
    ASSERT_NEAR(top[6 * n], top[6 * n] == 0 ? 0 : 4.0 / 3, 1e-6);
    dropped += top[6 * n] == 0;
  }
  EXPECT_NEAR(dropped, 500, 5 * 19.4);  // five standard deviations
  // Samples draw, not batches: those of two passes are those of one batch.
  const std::vector<double> second = Ones(kPath + "}", {1000, 3, 2}).Passes(2).Top();
  EXPECT_EQ(second, std::vector<double>(top.begin() + 6000, top.end()));
}

TEST(DropPath, IsOffInTests) {
  LayerCase c(kPath + "}");
  c.Bottom({2, 2}, {1, -2, 3, 4}).InPhase(TEST).ExpectTop({2, 2}, {1, -2, 3, 4}).ExpectGradient();
  EXPECT_EQ(c.Engine(), "view");
  LayerCase(kPath + "scale_train: false }")
      .Bottom({1, 2}, {4, -8})
      .InPhase(TEST)
      .ExpectTop({1, 2}, {3, -6});
}

TEST_ON_DEVICES(DropPath, AgreesWithDifferencesAndInEveryLayout) {
  ExpectAgreement(kPath + "}", {{5, 8, 3, 2}, {3, 5, 3, 1}, {4, 7}, {6}, {3, 304}});
  ExpectAgreement(kPath + "scale_train: false sample_weights_test: true }", {{4, 8, 2, 2}});
}

TEST(SpatialDropout, DropsWholeChannels) {
  const std::vector<double> top = Ones(kSpatial, {3, 2000, 1, 2}).Top();
  int dropped = 0;
  for (size_t i = 0; i < top.size(); i += 2) {
    ASSERT_EQ(top[i], top[i + 1]);
    ASSERT_NEAR(top[i], top[i] == 0 ? 0 : 4.0 / 3, 1e-6);
    if (top[i] == 0) ++dropped;
  }
  // Five standard deviations of 6000 draws.
  EXPECT_NEAR(dropped, 1500, 5 * 33.6);
  EXPECT_NE(Ones(kSpatial, {3, 2000, 1, 2}).Passes(2).Top(), top);
  // The first sample is the same in a smaller batch.
  std::vector<double> one = top;
  one.resize(4000);
  EXPECT_EQ(Ones(kSpatial, {1, 2000, 1, 2}).Top(), one);
}

TEST(SpatialDropout, IsTheIdentityInTests) {
  LayerCase c("type: 'SpatialDropout'");
  c.Bottom({1, 3}, {1, -2, 3}).InPhase(TEST).ExpectTop({1, 3}, {1, -2, 3}).ExpectGradient();
  EXPECT_EQ(c.Engine(), "view");
}

TEST_ON_DEVICES(SpatialDropout, AgreesWithDifferencesAndInEveryLayout) {
  ExpectAgreement("type: 'SpatialDropout'", {{3, 5, 3, 1}, {2, 8, 2, 4}, {1, 7}, {}});
}

const std::string kSelu = "type: 'SeLuDropout' selu_dropout_param { dropout_ratio: 0.25 }";

// The layer sets a quarter of the normal numbers to SELU's lower limit, -1.7581, before it scales
// and shifts all of them. Their mean is still 0 and their variance 1.
TEST(SeLuDropout, KeepsMeanAndVariance) {
  constexpr int kCount = 40000;
  const Random random(1, 2);
  std::vector<double> normal(kCount);
  for (int i = 0; i < kCount; ++i) normal[i] = random.Normal(0, i);
  LayerCase c(kSelu);
  c.Bottom({4, kCount / 4}, normal);
  const std::vector<double> top = c.Top();
  // q = 3/4: a = 1 / sqrt(3/4 + 1.7581^2 * 3/16), b = a * 1.7581 / 4.
  const double alpha = -1.7580993408473766;
  const double a = 1 / std::sqrt(0.75 + alpha * alpha * 0.1875), b = -a * 0.25 * alpha;
  double sum = 0, squares = 0;
  int dropped = 0;
  for (int i = 0; i < kCount; ++i) {
    const bool kept = std::abs(top[i] - (a * normal[i] + b)) < 1e-5;
    if (!kept) {
      ASSERT_NEAR(top[i], a * alpha + b, 1e-5);
    }
    dropped += kept ? 0 : 1;
    sum += top[i];
    squares += top[i] * top[i];
  }
  EXPECT_NEAR(dropped, 0.25 * kCount, 5 * 86.6);
  EXPECT_NEAR(sum / kCount, 0, 0.025);
  EXPECT_NEAR(squares / kCount, 1, 0.035);
}

TEST(SeLuDropout, DropsWhatDropoutDrops) {
  std::vector<double> want = Ones(kQuarter + "}", {3, 304}).Top();
  const std::vector<double> top = Ones(kSelu, {3, 304}).Top();
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(top[i] > 0, want[i] > 0);
}

TEST(SeLuDropout, TakesItsAlphaAndIsTheIdentityInTests) {
  // alpha 0 drops to 0 and scales by 1 / sqrt(q): half of the elements by 2 / sqrt(2).
  const std::string layer =
      "type: 'SeLuDropout' selu_dropout_param { dropout_ratio: 0.5 alpha: 0 }";
  for (const double y : Ones(layer, {1, 200}).Top()) {
    EXPECT_NEAR(y, y < 0.5 ? 0 : std::sqrt(2.0), 1e-6);
  }
  LayerCase c(layer);
  c.Bottom({1, 3}, {1, -2, 3}).InPhase(TEST).ExpectTop({1, 3}, {1, -2, 3}).ExpectGradient();
  EXPECT_EQ(c.Engine(), "view");
}

TEST_ON_DEVICES(SeLuDropout, AgreesWithDifferencesAndInEveryLayout) {
  ExpectAgreement(kSelu, {{3, 5, 3, 1}, {2, 8, 2, 4}, {1, 7}, {3, 304}});
}

TEST(SeLuDropout, RefusesRatiosOutsideItsRange) {
  LayerCase("type: 'SeLuDropout' selu_dropout_param { dropout_ratio: 1 }")
      .Bottom({1}, {1})
      .ExpectMistake({"dropout_ratio 1", "outside [0, 1)"});
}

TEST(SpatialDropout, RefusesRatiosOutsideItsRange) {
  LayerCase("type: 'SpatialDropout' spatial_dropout_param { dropout_ratio: 1 }")
      .Bottom({1}, {1})
      .ExpectMistake({"dropout_ratio 1", "outside [0, 1)"});
}

TEST(Dropout, RefusesRatiosOutsideItsRange) {
  LayerCase("type: 'Dropout' dropout_param { dropout_ratio: 1 }")
      .Bottom({1}, {1})
      .ExpectMistake({"dropout_ratio 1", "outside [0, 1)"});
  LayerCase("type: 'Dropout' dropout_param { dropout_ratio: -0.5 }")
      .Bottom({1}, {1})
      .ExpectMistake({"dropout_ratio -0.5"});
}

}  // namespace
}  // namespace doppio

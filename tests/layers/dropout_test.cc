#include <gtest/gtest.h>

#include <algorithm>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

const std::string kQuarter = "type: 'Dropout' dropout_param { dropout_ratio: 0.25 ";

LayerCase Ones(const std::string& layer, const Shape& shape) {
  LayerCase c(layer);
  c.Bottom(shape, std::vector<double>(static_cast<size_t>(shape.count()), 1));
  return c;
}

TEST(Dropout, IsTheIdentityInTestsAndAtRatioZero) {
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

TEST(Dropout, DrawsAnewForEachPassAndEachSeed) {
  const std::vector<double> top = Ones(kQuarter + "}", {1, 64}).Top();
  EXPECT_EQ(Ones(kQuarter + "}", {1, 64}).Top(), top);
  EXPECT_NE(Ones(kQuarter + "}", {1, 64}).Passes(2).Top(), top);
  EXPECT_NE(Ones(kQuarter + "random_seed: 4 }", {1, 64}).Top(), top);
  // 3 is the seed of the net.
  EXPECT_EQ(Ones(kQuarter + "random_seed: 3 }", {1, 64}).Top(), top);
}

TEST(Dropout, DependsOnTheSampleAndNotOnTheBatch) {
  const std::vector<double> one = Ones(kQuarter + "}", {1, 300}).Top();
  std::vector<double> three = Ones(kQuarter + "}", {3, 300}).Top();
  EXPECT_NE(std::vector<double>(three.begin() + 300, three.begin() + 600), one);
  three.resize(300);
  EXPECT_EQ(three, one);
  // The second sample of the run, in a batch of its own.
  const std::vector<double> second = Ones(kQuarter + "}", {1, 300}).Passes(2).Top();
  const std::vector<double> batch = Ones(kQuarter + "}", {2, 300}).Top();
  EXPECT_EQ(std::vector<double>(batch.begin() + 300, batch.end()), second);
}

TEST(Dropout, AgreesWithDifferencesAndInEveryLayout) {
  for (const Shape& shape : {Shape{3, 5, 3, 1}, Shape{1, 7}, Shape{}, Shape{3, 304}}) {
    LayerCase c("type: 'Dropout'");
    c.RandomBottom(shape).ExpectTopShape(shape).ExpectGradient().ExpectBackendsAgree();
    c.InPlace().ExpectGradient().ExpectBackendsAgree();
    const std::string gpu = c.GpuEngine();
    EXPECT_TRUE(gpu.empty() || gpu == "cuda") << gpu;
    EXPECT_TRUE(c.NarrowOnGpu());
    EXPECT_EQ(c.GpuConversions(), 0);
  }
}

// Whole packs of channels and parts of one; positions that share their draws within a row of four,
// across two, and not at all.
TEST(Dropout, DropsTheSameElementsInEveryLayout) {
  for (const Shape& shape :
       {Shape{3, 8, 2, 4}, Shape{1, 16, 3, 3}, Shape{3, 24, 1, 1}, Shape{3, 9, 5},
        Shape{1, 1, 6, 3}, Shape{2, 12, 2, 1, 3}, Shape{3, 300}}) {
    LayerCase("type: 'Dropout'").RandomBottom(shape).ExpectBackendsAgree();
  }
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

#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Reshaped(const std::string& dims, const std::string& more = "") {
  LayerCase c("type: 'Reshape' reshape_param { shape { " + dims + " } " + more + " }");
  c.RandomBottom({2, 3, 4});
  return c;
}

TEST(Reshape, CopiesAndInfersExtents) {
  Reshaped("dim: 0 dim: 12").ExpectTopShape({2, 12});
  Reshaped("dim: -1 dim: 0 dim: 2").ExpectTopShape({4, 3, 2});
  Reshaped("dim: 24 dim: -1").ExpectTopShape({24, 1});
  Reshaped("dim: -1").ExpectTopShape({24});
}

TEST(Reshape, ReplacesARangeOfAxes) {
  Reshaped("dim: 2 dim: 2", "axis: 2").ExpectTopShape({2, 3, 2, 2});
  Reshaped("dim: -1", "axis: 1 num_axes: 2").ExpectTopShape({2, 12});
  Reshaped("dim: 3 dim: 2", "axis: 0 num_axes: 2").ExpectTopShape({3, 2, 4});
  Reshaped("dim: 1", "axis: -1").ExpectTopShape({2, 3, 4, 1});
  Reshaped("dim: 1 dim: 1", "axis: 1 num_axes: 0").ExpectTopShape({2, 1, 1, 3, 4});
  Reshaped("dim: 2 dim: 2", "axis: -2").ExpectTopShape({2, 3, 2, 2});
}

TEST(Reshape, OfOneElementMayBeAScalar) {
  LayerCase("type: 'Reshape' reshape_param { shape { } }").Bottom({1, 1}, {7}).ExpectTop({}, {7});
}

TEST_ON_DEVICES(Reshape, KeepsTheElements) {
  LayerCase c("type: 'Reshape' reshape_param { shape { dim: 3 dim: -1 } }");
  c.Bottom({1, 2, 3}, {1, 2, 3, 4, 5, 6}).ExpectTop({3, 2}, {1, 2, 3, 4, 5, 6});
  c.ExpectBottomGradient({6, 5, 4, 3, 2, 1}, {6, 5, 4, 3, 2, 1});
  EXPECT_EQ(c.Engine(), "view");
  LayerCase("type: 'Reshape' reshape_param { shape { dim: 0 dim: -1 } }")
      .RandomBottom({3, 5, 2, 1})
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST(Reshape, ExplainsMistakes) {
  Reshaped("dim: 5").ExpectMistake({"count mismatch 24 != 5", "2x3x4"});
  Reshaped("dim: -1 dim: -1").ExpectMistake({"two dims are -1"});
  Reshaped("dim: -2").ExpectMistake({"dim -2"});
  Reshaped("dim: 5 dim: -1").ExpectMistake({"24 elements", "cannot be divided by 5"});
  Reshaped("dim: 2 dim: 3 dim: 4 dim: 0")
      .ExpectMistake({"dim: 0 copies axis 3", "2x3x4 has no such axis"});
  Reshaped("dim: 24", "axis: 4").ExpectMistake({"axis 4 is not in -4..3"});
  Reshaped("dim: 24", "axis: -5").ExpectMistake({"axis -5 is not in -4..3"});
  Reshaped("dim: 24", "axis: 1 num_axes: 3")
      .ExpectMistake({"num_axes 3 from axis 1 on is more than the bottom has"});
  Reshaped("dim: 24", "num_axes: -2").ExpectMistake({"num_axes -2"});
  Reshaped("dim: 24", "pixelshuffler: 2").ExpectMistake({"pixelshuffler is not supported"});
}

LayerCase Flattened(const std::string& param) {
  LayerCase c("type: 'Flatten' flatten_param { " + param + " }");
  c.RandomBottom({2, 3, 4});
  return c;
}

TEST(Flatten, JoinsARangeOfAxes) {
  Flattened("").ExpectTopShape({2, 12});
  Flattened("axis: 0").ExpectTopShape({24});
  Flattened("axis: 0 end_axis: 1").ExpectTopShape({6, 4});
  Flattened("axis: -1").ExpectTopShape({2, 3, 4});
  // An empty range inserts an axis.
  Flattened("axis: 2 end_axis: 1").ExpectTopShape({2, 3, 1, 4});
  LayerCase("type: 'Flatten'").Bottom({1, 2, 2}, {1, 2, 3, 4}).ExpectTop({1, 4}, {1, 2, 3, 4});
}

TEST_ON_DEVICES(Flatten, AgreesWithDifferencesAndInEveryLayout) {
  LayerCase c("type: 'Flatten'");
  c.RandomBottom({3, 5, 2, 1}).ExpectGradient().ExpectBackendsAgree();
  EXPECT_EQ(c.Engine(), "view");
}

TEST(Flatten, ExplainsMistakes) {
  Flattened("axis: 3").ExpectMistake({"axis 3 does not exist", "2x3x4"});
  Flattened("end_axis: -4").ExpectMistake({"end_axis -4 does not exist"});
  Flattened("axis: 2 end_axis: 0").ExpectMistake({"axis 2 comes after end_axis 0"});
}

TEST_ON_DEVICES(Split, CopiesToEveryTopAndAddsTheirGradients) {
  LayerCase c("type: 'Split'");
  c.RandomBottom({3, 5, 2, 1})
      .Tops(3)
      .ExpectTopShape({3, 5, 2, 1}, 2)
      .ExpectGradient()
      .ExpectBackendsAgree();
  EXPECT_EQ(c.Top(0), c.Top(2));
  EXPECT_EQ(c.Engine(), "view");
  c.Read(1).ExpectGradient().ExpectBackendsAgree();
  LayerCase("type: 'Split'")
      .Bottom({2}, {1, 2})
      .Tops(2)
      .ExpectTop({2}, {1, 2}, 1e-5, 1)
      .ExpectBottomGradient({3, 4}, {3, 4});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Permuted(const std::string& order) {
  return LayerCase("type: 'Permute' permute_param { " + order + " }");
}

TEST(Permute, PutsAxesIntoAnotherOrder) {
  Permuted("order: 1 order: 0")
      .Bottom({2, 3}, {1, 2, 3, 4, 5, 6})
      .ExpectTop({3, 2}, {1, 4, 2, 5, 3, 6})
      .ExpectBottomGradient({1, 2, 3, 4, 5, 6}, {1, 3, 5, 2, 4, 6});
  // SSD's permutation: channels last.
  Permuted("order: 0 order: 2 order: 3 order: 1")
      .Bottom({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6})
      .ExpectTop({1, 1, 3, 2}, {1, 4, 2, 5, 3, 6});
}

TEST(Permute, LeavesAxesThatAreNotNamedInTheirOrder) {
  Permuted("order: 2").RandomBottom({2, 3, 4}).ExpectTopShape({4, 2, 3});
}

TEST_ON_DEVICES(Permute, CostsNothingWhereTheOrderOfElementsStays) {
  for (const char* order : {"", "order: 0 order: 1 order: 2", "order: 1 order: 0"}) {
    LayerCase c = Permuted(order);
    c.RandomBottom({3, 1, 4}).ExpectGradient().ExpectBackendsAgree();
    EXPECT_EQ(c.Engine(), "view") << order;
  }
}

TEST_ON_DEVICES(Permute, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* order :
       {"order: 0 order: 2 order: 3 order: 1", "order: 3 order: 2 order: 1 order: 0"}) {
    LayerCase c = Permuted(order);
    c.RandomBottom({3, 5, 2, 3}).ExpectGradient().ExpectBackendsAgree();
    c.ExpectGpuKernel();
    c.ExpectNarrowOnGpu();
  }
}

TEST_ON_DEVICES(Permute, GoesToTheHostWithMoreAxesThanTheGpuTakes) {
  LayerCase c =
      Permuted("order: 8 order: 7 order: 6 order: 5 order: 4 order: 3 order: 2 order: 1 order: 0");
  c.RandomBottom({2, 2, 2, 2, 2, 2, 2, 2, 2}).ExpectBackendsAgree();
  if (OnGpu()) {
    EXPECT_EQ(c.GpuEngine(), "host");
  }
}

TEST(Permute, ExplainsMistakes) {
  Permuted("order: 2").RandomBottom({2, 3}).ExpectMistake({"order 2 does not exist", "2x3"});
  Permuted("order: 1 order: 1").RandomBottom({2, 3}).ExpectMistake({"order 1 is given twice"});
}

LayerCase Cropped(const std::string& param, const Shape& bottom, const Shape& like) {
  LayerCase c("type: 'Crop' crop_param { " + param + " }");
  c.RandomBottom(bottom).RandomBottom(like);
  return c;
}

TEST(Crop, TakesTheExtentsOfTheOtherBottom) {
  LayerCase c("type: 'Crop' crop_param { axis: 1 offset: 1 offset: 0 }");
  c.Bottom({1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})
      .Bottom({5, 2, 2}, std::vector<double>(20, 0))
      .ExpectTop({1, 2, 2}, {4, 5, 7, 8})
      .ExpectBottomGradient({1, 2, 3, 4}, {0, 0, 0, 1, 2, 0, 3, 4, 0});
}

TEST(Crop, BeginsWithAxis2AndAtTheCorner) {
  LayerCase("type: 'Crop'")
      .Bottom({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})
      .Bottom({4, 7, 2, 2}, std::vector<double>(112, 0))
      .ExpectTop({1, 1, 2, 2}, {1, 2, 4, 5});
  Cropped("axis: -1 offset: 2", {2, 5}, {1, 3}).ExpectTopShape({2, 3});
  Cropped("axis: 0 offset: 1", {4, 3, 5}, {2, 2, 4}).ExpectTopShape({2, 2, 4});
}

TEST_ON_DEVICES(Crop, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* param :
       {"", "offset: 1", "axis: 1 offset: 2 offset: 1 offset: 0", "axis: 0 offset: 1"}) {
    LayerCase c = Cropped(param, {4, 5, 4, 3}, {3, 3, 3, 2});
    c.ExpectGradient().ExpectBackendsAgree();
    c.ExpectGpuKernel();
    c.ExpectNarrowOnGpu();
  }
  Cropped("", {3, 5, 2, 2}, {3, 5, 2, 2}).ExpectGradient().ExpectBackendsAgree();
}

TEST(Crop, ExplainsMistakes) {
  Cropped("axis: 4", {1, 1, 2, 2}, {1, 1, 2, 2})
      .ExpectMistake({"axis 4 does not exist", "1x1x2x2"});
  Cropped("", {1, 1, 2, 2}, {1, 1, 2}).ExpectMistake({"too few axes"});
  Cropped("", {1, 1, 2, 2}, {1, 1, 2, 3})
      .ExpectMistake({"too small to crop along axis 3", "1x1x2x3"});
  Cropped("offset: 1", {1, 1, 3, 3}, {1, 1, 2, 3})
      .ExpectMistake({"offset 1 leaves too little along axis 3"});
  Cropped("axis: 1 offset: 0 offset: 0", {1, 1, 3, 3}, {1, 1, 2, 3})
      .ExpectMistake({"given 2 times", "each of the 3"});
}

LayerCase Reorganized(const std::string& param) {
  return LayerCase("type: 'Reorg' reorg_param { " + param + " }");
}

// The expected values were computed by hand from darknet's index formula. With one output channel
// per offset within a square, all elements of one offset are contiguous.
TEST(Reorg, ReadsTheBottomAsIfItWereWide) {
  // 4 channels of 2 x 2 pixels are read as one of 4 x 4.
  Reorganized("stride: 2")
      .Bottom({1, 4, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
      .ExpectTop({1, 16, 1, 1}, {0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15});
}

TEST(Reorg, UnfoldsChannelsIntoSquares) {
  Reorganized("stride: 2 reverse: true")
      .Bottom({1, 4, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7})
      .ExpectTop({1, 1, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7})
      .ExpectBottomGradient({0, 1, 2, 3, 4, 5, 6, 7}, {0, 2, 1, 3, 4, 6, 5, 7});
}

TEST_ON_DEVICES(Reorg, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* param : {"stride: 2", "stride: 2 reverse: true"}) {
    LayerCase c = Reorganized(param);
    c.RandomBottom({3, 8, 2, 4}).ExpectGradient().ExpectBackendsAgree();
    c.ExpectGpuKernel();
  }
  LayerCase c = Reorganized("stride: 1");
  c.RandomBottom({1, 3, 2, 2}).ExpectBackendsAgree();
  EXPECT_EQ(c.Engine(), "view");
}

// YOLO9000's files have no reorg_param.
TEST(Reorg, HasAStrideOfTwo) {
  Reorganized("").RandomBottom({1, 4, 2, 2}).ExpectTopShape({1, 16, 1, 1});
}

TEST(Reorg, ExplainsMistakes) {
  Reorganized("stride: 0")
      .RandomBottom({1, 4, 2, 2})
      .ExpectMistake({"stride must be positive, found 0"});
  Reorganized("stride: 2")
      .RandomBottom({1, 6, 2, 2})
      .ExpectMistake({"6 channels", "square of stride 2"});
  Reorganized("stride: 2").RandomBottom({1, 4, 3, 2}).ExpectMistake({"height and width (1x4x3x2)"});
  Reorganized("stride: 2").RandomBottom({4, 2, 2}).ExpectMistake({"4 axes"});
}

LayerCase Shuffled(const std::string& param) {
  return LayerCase("type: 'ShuffleChannel' shuffle_channel_param { " + param + " }");
}

TEST(ShuffleChannel, DealsTheChannelsOfAllPartsInTurn) {
  Shuffled("group: 2")
      .Bottom({1, 6, 1, 2}, {0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51})
      .ExpectTop({1, 6, 1, 2}, {0, 1, 30, 31, 10, 11, 40, 41, 20, 21, 50, 51})
      .ExpectBottomGradient({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                            {0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11});
  Shuffled("group: 3")
      .Bottom({2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
      .ExpectTop({2, 6}, {0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11});
}

TEST_ON_DEVICES(ShuffleChannel, AgreesWithDifferencesAndInEveryLayout) {
  LayerCase c = Shuffled("group: 3");
  c.RandomBottom({3, 6, 3, 2}).ExpectGradient().ExpectBackendsAgree();
  c.ExpectGpuKernel();
  c.ExpectNarrowOnGpu();
}

TEST_ON_DEVICES(ShuffleChannel, CostsNothingWithOnePart) {
  LayerCase c = Shuffled("");
  c.RandomBottom({2, 4, 3, 1}).ExpectBackendsAgree();
  EXPECT_EQ(c.Engine(), "view");
}

TEST(ShuffleChannel, ExplainsMistakes) {
  Shuffled("group: 4").RandomBottom({1, 6, 2, 2}).ExpectMistake({"6 channels", "group: 4"});
  Shuffled("group: 0").RandomBottom({1, 6, 2, 2}).ExpectMistake({"6 channels", "group: 0"});
  Shuffled("group: 1").RandomBottom({6}).ExpectMistake({"needs at least 2 axes"});
}

}  // namespace
}  // namespace doppio

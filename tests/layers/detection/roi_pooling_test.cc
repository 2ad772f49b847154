#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

using Values = std::vector<double>;

LayerCase Max(const std::string& param) {
  return LayerCase("type: 'ROIPooling' roi_pooling_param { " + param + " }");
}
LayerCase Mean(const std::string& param) {
  return LayerCase("type: 'PSROIPooling' psroi_pooling_param { " + param + " }");
}

const Values kCounting = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr char kTwoByTwo[] = "pooled_h: 2 pooled_w: 2 ";

TEST_ON_DEVICES(RoiPooling, TakesTheLargestOfEachBin) {
  LayerCase c = Max(kTwoByTwo);
  c.Bottom({1, 1, 4, 4}, kCounting).Bottom({1, 5}, {0, 0, 0, 3, 3});
  c.ExpectTop({1, 1, 2, 2}, {5, 7, 13, 15})
      .ExpectBottomGradient({1, 2, 3, 4}, {0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4})
      .ExpectBackendsAgree();
  c.ExpectGpuKernel();
}

TEST_ON_DEVICES(RoiPooling, SharesPixelsBetweenBins) {
  // With 3 pixels, bin 0 covers pixels 0 and 1, and bin 1 covers pixels 1 and 2.
  Max(kTwoByTwo)
      .Bottom({1, 1, 4, 4}, {0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
      .Bottom({1, 5}, {0, 0, 0, 2, 2})
      .ExpectTop({1, 1, 2, 2}, {9, 9, 9, 9})
      .ExpectBottomGradient({1, 2, 3, 4}, {0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
      .ExpectBackendsAgree();
}

TEST(RoiPooling, RoundsRegionsToPixelsOfTheMap) {
  // With a scale of 0.5, the corners 2.8 and 5 become 1.4 and 2.5, which round to 1 and 3 (half
  // away from zero).
  Max(std::string("spatial_scale: 0.5 ") + kTwoByTwo)
      .Bottom({1, 1, 4, 4}, kCounting)
      .Bottom({1, 5}, {0, 2.8, 2.8, 5, 5})
      .ExpectTop({1, 1, 2, 2}, {10, 11, 14, 15});
}

TEST(RoiPooling, RoundsInDoubleIfTheNetComputesInDouble) {
  // In single precision, the corners would be 2.5, which rounds to 3.
  LayerCase max = Max("pooled_h: 1 pooled_w: 1");
  max.Bottom({1, 1, 4, 4}, kCounting).Bottom({1, 5}, {0, 0, 0, 2.4999999999, 2.4999999999});
  EXPECT_EQ(max.Top(), Values{10});
  LayerCase mean = Mean("spatial_scale: 1 output_dim: 1 group_size: 1");
  mean.Bottom({1, 1, 4, 4}, kCounting).Bottom({1, 5}, {0, 0, 0, 2.4999999999, 2.4999999999});
  EXPECT_EQ(mean.Top(), Values{5});
}

TEST_ON_DEVICES(RoiPooling, CutsRegionsToTheMap) {
  Max(kTwoByTwo)
      .Bottom({1, 1, 4, 4}, kCounting)
      .Bottom({4, 5, 1, 1}, {0, 2, 2, 5,  5,  // half of the region is outside
                             0, 7, 7, 9,  9,  // all of the region is outside
                             0, 3, 3, 1,  1,  // corners in the wrong order: one pixel
                             0, 0, 0, -4, 0})
      .ExpectTop({4, 1, 2, 2}, {15, 0, 0, 0, 0, 0, 0, 0, 15, 15, 15, 15, 0, 0, 0, 0})
      .ExpectBackendsAgree();
}

TEST(RoiPooling, ReadsTheImageThatARegionNames) {
  Max("pooled_h: 1 pooled_w: 1")
      .Bottom({2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
      .Bottom({3, 5}, {1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0})
      .ExpectTop({3, 2, 1, 1}, {6, 8, 1, 3, 6, 8})
      .ExpectBottomGradient({1, 2, 3, 4, 5, 6}, {3, 0, 4, 0, 0, 6, 0, 8});
}

// Regions of two images with maps of 9 x 7, at a scale of 0.5.
const Values kRegions = {0, 0,  0, 13, 17, 1, 2, 3, 9,  12, 0,  5, 1,
                         6, 15, 1, -4, -6, 8, 9, 0, 12, 14, 30, 40};

TEST_ON_DEVICES(RoiPooling, AgreesWithDifferencesAndOnEveryDevice) {
  for (const char* bins :
       {"pooled_h: 3 pooled_w: 2", "pooled_h: 6 pooled_w: 7", "pooled_h: 1 pooled_w: 1"}) {
    LayerCase c = Max(std::string("spatial_scale: 0.5 ") + bins);
    c.RandomBottom({2, 3, 9, 7}).Bottom({5, 5}, kRegions);
    c.ExpectGradient().ExpectBackendsAgree();
  }
}

TEST_ON_DEVICES(RoiPooling, EnlargesRegionsByPadRatio) {
  // The region is 4 wide and 2 high, so it becomes 2 - 1 to 5 + 1 and 3 - 0.5 to 4 + 0.5. The scale
  // makes that 0.5 to 3 and 1.25 to 2.25, which round to 1 to 3 and 1 to 2.
  Max("pooled_w: 3 pooled_h: 2 spatial_scale: 0.5 pad_ratio: 0.25")
      .Bottom({1, 1, 4, 4}, kCounting)
      .Bottom({1, 5}, {0, 2, 3, 5, 4})
      .ExpectTop({1, 1, 2, 3}, {5, 6, 7, 9, 10, 11})
      .ExpectBottomGradient({1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0})
      .ExpectBackendsAgree();
  Max("pooled_w: 4 pooled_h: 8 spatial_scale: 0.5 pad_ratio: 0.1")
      .RandomBottom({2, 3, 9, 7})
      .Bottom({5, 5}, kRegions)
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST(RoiPooling, ExplainsMistakes) {
  const auto mistake = [](const std::string& param, const Shape& maps, const Shape& rois,
                          const std::vector<std::string>& parts) {
    Max(param).RandomBottom(maps).RandomBottom(rois, 0, 1).ExpectMistake(parts);
  };
  mistake("pooled_h: 2", {1, 1, 4, 4}, {1, 5}, {"pooled_h and pooled_w, both positive"});
  mistake("pooled_size: 2", {1, 1, 4, 4}, {1, 5}, {"give pooled_h and pooled_w instead"});
  mistake(kTwoByTwo, {1, 4, 4}, {1, 5}, {"4 axes", "1x4x4"});
  mistake(kTwoByTwo, {1, 1, 4, 4}, {1, 4}, {"regions", "1x4", "five numbers"});
  mistake(std::string("spatial_scale: 0 ") + kTwoByTwo, {1, 1, 4, 4}, {1, 5},
          {"spatial_scale", "positive"});
  mistake(std::string("pad_ratio: -0.25 ") + kTwoByTwo, {1, 1, 4, 4}, {1, 5},
          {"pad_ratio", "must not be negative"});
  for (double image : {-1.0, 1.0}) {
    Max(kTwoByTwo)
        .Bottom({1, 1, 4, 4}, kCounting)
        .Bottom({1, 5}, {image, 0, 0, 3, 3})
        .ExpectMistake({"names an image that is not in the batch; images are 0..0"});
  }
}

TEST_ON_DEVICES(PsRoiPooling, TakesTheMeanOfAChannelForEachBin) {
  Values x;
  for (int c = 0; c < 4; ++c) {
    for (double v : kCounting) x.push_back(100 * c + v);
  }
  LayerCase c = Mean("spatial_scale: 1 output_dim: 1 group_size: 2");
  c.Bottom({1, 4, 4, 4}, x).Bottom({1, 5}, {0, 0, 0, 3, 3});
  // Each bin is the mean over a quarter of the map (pixels 0, 1, 4 and 5, and so on) of its own
  // channel.
  Values dx(64, 0);
  for (int at : {0, 1, 4, 5}) dx[static_cast<size_t>(at)] = 0.25;
  for (int at : {2, 3, 6, 7}) dx[16 + at] = 0.5;
  for (int at : {8, 9, 12, 13}) dx[32 + at] = 0.75;
  for (int at : {10, 11, 14, 15}) dx[48 + at] = 1;
  c.ExpectTop({1, 1, 2, 2}, {2.5, 104.5, 210.5, 312.5})
      .ExpectBottomGradient({1, 2, 3, 4}, dx)
      .ExpectBackendsAgree();
  c.ExpectGpuKernel();
}

TEST(PsRoiPooling, RoundsWindowsOutwards) {
  // Corners are rounded in the image's coordinates: 1 to 4, or to 5 with the last pixel included.
  // The scale halves them to 0.5 and 2.5, which one bin rounds outwards to 0 and 3.
  LayerCase c = Mean("spatial_scale: 0.5 output_dim: 1 group_size: 1");
  c.Bottom({1, 1, 1, 4}, {1, 2, 6, 50}).Bottom({1, 5}, {0, 1.2, 0, 3.6, 1});
  c.ExpectTop({1, 1, 1, 1}, {3}).ExpectBottomGradient({3}, {1, 1, 1, 0});
}

TEST_ON_DEVICES(PsRoiPooling, MakesNothingOfEmptyWindows) {
  Mean("spatial_scale: 1 output_dim: 1 group_size: 1")
      .Bottom({1, 1, 1, 2}, {3, 4})
      .Bottom({2, 5}, {0, 5, 5, 9, 9, 0, -9, -9, -5, -5})
      .ExpectTop({2, 1, 1, 1}, {0, 0})
      .ExpectBottomGradient({1, 1}, {0, 0})
      .ExpectBackendsAgree();
}

TEST_ON_DEVICES(PsRoiPooling, AgreesWithDifferencesAndOnEveryDevice) {
  LayerCase c = Mean("spatial_scale: 0.5 output_dim: 2 group_size: 3");
  c.RandomBottom({2, 18, 9, 7}).Bottom({5, 5}, kRegions).ExpectGradient().ExpectBackendsAgree();
  // The scale is exact in both types, so that they round edges of windows in the same way.
  Mean("spatial_scale: 0.3125 output_dim: 1 group_size: 2")
      .RandomBottom({2, 4, 5, 6})
      .Bottom({5, 5}, kRegions)
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST(PsRoiPooling, ExplainsMistakes) {
  const auto mistake = [](const std::string& param, const std::vector<std::string>& parts) {
    Mean(param).RandomBottom({1, 4, 4, 4}).RandomBottom({1, 5}, 0, 1).ExpectMistake(parts);
  };
  mistake("output_dim: 1 group_size: 2", {"spatial_scale", "positive"});
  mistake("spatial_scale: 1 group_size: 2", {"output_dim and group_size, both positive"});
  mistake("spatial_scale: 1 output_dim: 2 group_size: 2",
          {"group_size is 8, bottom", "has 4 channels"});
  Mean("spatial_scale: 1 output_dim: 1 group_size: 2")
      .RandomBottom({1, 4, 4, 4})
      .Bottom({1, 5}, {2, 0, 0, 3, 3})
      .ExpectMistake({"names an image that is not in the batch"});
}

}  // namespace
}  // namespace doppio

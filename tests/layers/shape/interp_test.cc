#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Resize(const std::string& param) {
  return LayerCase("type: 'Interp' interp_param { " + param + " }");
}

TEST(Interp, KeepsCornersAndDividesEvenlyBetween) {
  for (const char* param : {"zoom_factor: 2", "height: 3 width: 3"}) {
    Resize(param)
        .Bottom({1, 1, 2, 2}, {0, 4, 8, 16})
        .ExpectTop({1, 1, 3, 3}, {0, 2, 4, 4, 7, 10, 8, 12, 16})
        .ExpectBottomGradient({0, 4, 0, 0, 4, 0, 0, 0, 1}, {3, 3, 1, 2});
  }
}

TEST(Interp, DividesInDoubleIfTheNetComputesInDouble) {
  Resize("height: 1 width: 4")
      .Bottom({1, 1, 1, 2}, {0, 3})
      .ExpectTop({1, 1, 1, 4}, {0, 1, 2, 3}, 1e-15)
      .ExpectBottomGradient({3, 3, 3, 3}, {6, 6}, 0, 1e-14);
}

TEST(Interp, ShrinksByTakingPixels) {
  Resize("shrink_factor: 2")
      .Bottom({1, 1, 3, 5}, {0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24})
      .ExpectTop({1, 1, 2, 3}, {0, 2, 4, 20, 22, 24})
      .ExpectBottomGradient({1, 2, 3, 4, 5, 6}, {1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 4, 0, 5, 0, 6});
  Resize("shrink_factor: 2 zoom_factor: 2")
      .Bottom({1, 1, 1, 4}, {0, 1, 2, 9})
      .ExpectTop({1, 1, 1, 3}, {0, 1.5, 9});
}

TEST(Interp, CutsOffWhatNegativePadsSay) {
  Resize("zoom_factor: 2 pad_beg: -1 pad_end: -1")
      .Bottom({1, 1, 3, 4}, {0, 0, 0, 0, 0, 2, 4, 0, 0, 0, 0, 0})
      .ExpectTop({1, 1, 1, 3}, {2, 3, 4})
      .ExpectBottomGradient({1, 4, 10}, {0, 0, 0, 0, 0, 3, 12, 0, 0, 0, 0, 0});
}

TEST_ON_DEVICES(Interp, TakesTheSizeOfASecondBottom) {
  Resize("use_blob_size: true")
      .Bottom({1, 1, 2, 2}, {0, 4, 8, 16})
      .RandomBottom({2, 5, 3, 3})
      .ExpectTop({1, 1, 3, 3}, {0, 2, 4, 4, 7, 10, 8, 12, 16});
  Resize("use_blob_size: true pad_beg: -1")
      .RandomBottom({2, 3, 4, 5})
      .RandomBottom({2, 1, 7, 2})
      .ExpectTopShape({2, 3, 7, 2})
      .ExpectBackendsAgree();
  Resize("use_blob_size: true")
      .Bottom({1, 1, 1, 2}, {3, 4})
      .RandomBottom({1, 1, 1, 2})
      .ExpectTop({1, 1, 1, 2}, {3, 4});
}

TEST(Interp, ExplainsMistakesAboutASecondBottom) {
  Resize("use_blob_size: true").RandomBottom({1, 1, 3, 3}).ExpectMistake({"there is none"});
  const auto mistake = [](const std::string& param, const Shape& second,
                          const std::vector<std::string>& parts) {
    Resize(param).RandomBottom({1, 1, 3, 3}).RandomBottom(second).ExpectMistake(parts);
  };
  mistake("zoom_factor: 2", {1, 1, 3, 3}, {"only with interp_param { use_blob_size: true }"});
  mistake("use_blob_size: true height: 3 width: 3", {1, 1, 3, 3}, {"remove height, width"});
  mistake("use_blob_size: true", {1, 3}, {"needs a bottom with 4 axes, found 1x3"});
}

TEST(Interp, RepeatsOrTakesASinglePixel) {
  Resize("height: 1 width: 3").Bottom({1, 1, 1, 1}, {5}).ExpectTop({1, 1, 1, 3}, {5, 5, 5});
  Resize("height: 1 width: 1").Bottom({1, 1, 1, 3}, {5, 6, 7}).ExpectTop({1, 1, 1, 1}, {5});
}

TEST(Interp, OfTheSameSizeCostsNothing) {
  LayerCase c = Resize("height: 2 width: 3");
  c.RandomBottom({1, 2, 2, 3}).ExpectTopShape({1, 2, 2, 3});
  EXPECT_EQ(c.Engine(), "view");
}

TEST_ON_DEVICES(Interp, AgreesWithDifferencesAndOnEveryDevice) {
  for (const char* param :
       {"zoom_factor: 3", "shrink_factor: 2", "height: 7 width: 2", "height: 2 width: 9",
        "height: 4 width: 5 pad_beg: -1", "zoom_factor: 2 pad_end: -2", "height: 1 width: 1"}) {
    LayerCase c = Resize(param);
    c.RandomBottom({3, 2, 5, 4}).ExpectGradient().ExpectBackendsAgree();
    c.ExpectGpuKernel();
    Resize(param).RandomBottom({1, 16, 4, 6}).ExpectBackendsAgree();
  }
}

TEST(Interp, ExplainsMistakes) {
  auto mistake = [](const std::string& param, const std::vector<std::string>& parts) {
    Resize(param).RandomBottom({1, 1, 3, 3}).ExpectMistake(parts);
  };
  mistake("", {"give height and width, or zoom_factor or shrink_factor"});
  mistake("height: 3", {"height and width are both needed"});
  mistake("height: 3 width: 3 zoom_factor: 2", {"not both"});
  mistake("zoom_factor: 0", {"zoom_factor must be positive, found 0"});
  mistake("shrink_factor: -1", {"shrink_factor must be positive, found -1"});
  mistake("height: 0 width: 2", {"height must be positive, found 0"});
  mistake("zoom_factor: 2 pad_beg: 1", {"remove pixels", "negative"});
  mistake("zoom_factor: 2 pad_beg: -2 pad_end: -1", {"remove all pixels of an axis of 3"});
  mistake("zoom_factor: 2000000000", {"an axis of 3 would become 4000000001", "too large"});
  Resize("zoom_factor: 2").RandomBottom({1, 2, 3}).ExpectMistake({"4 axes", "found 1x2x3"});
}

}  // namespace
}  // namespace doppio

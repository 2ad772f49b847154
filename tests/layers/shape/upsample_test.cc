#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Enlarge(const std::string& param) {
  return LayerCase("type: 'Upsample' upsample_param { " + param + " }");
}

TEST(Upsample, RepeatsPixels) {
  Enlarge("scale: 2")
      .Bottom({1, 1, 1, 2}, {1, 2})
      .ExpectTop({1, 1, 2, 4}, {1, 1, 2, 2, 1, 1, 2, 2})
      .ExpectBottomGradient({1, 10, 100, 0, 1000, 0, 0, 5}, {1011, 105});
  Enlarge("scale_h: 1 scale_w: 3")
      .Bottom({1, 1, 2, 1}, {1, 2})
      .ExpectTop({1, 1, 2, 3}, {1, 1, 1, 2, 2, 2});
  LayerCase same = LayerCase("type: 'Upsample'");
  same.Bottom({1, 1, 1, 2}, {1, 2}).ExpectTop({1, 1, 1, 2}, {1, 2});
  EXPECT_EQ(same.Engine(), "view");
}

TEST_ON_DEVICES(Upsample, PutsValuesWhereTheMaskSays) {
  LayerCase c = Enlarge("scale: 2");
  c.Bottom({1, 2, 1, 2}, {1, 2, 3, 4})
      .Bottom({1, 2, 1, 2}, {5, 2, 0, 7})
      .ExpectTop({1, 2, 2, 4}, {0, 0, 2, 0, 0, 1, 0, 0, 3, 0, 0, 0, 0, 0, 0, 4})
      .ExpectBottomGradient({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, {6, 3, 9, 16})
      .ExpectBackendsAgree();
  c.ExpectGpuKernel();
}

TEST_ON_DEVICES(Upsample, TakesTheLastOfSeveral) {
  LayerCase("type: 'Upsample'")
      .Bottom({1, 1, 1, 3}, {1, 2, 3})
      .Bottom({1, 1, 1, 3}, {4, 0, 4})
      .ExpectTop({1, 1, 2, 6}, {2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0})
      .ExpectBackendsAgree();
}

TEST(Upsample, MayHaveATopOfOddSize) {
  for (const char* param :
       {"scale: 2 pad_out_h: true pad_out_w: true",
        "scale_h: 2 scale_w: 2 pad_out_h: true pad_out_w: true", "upsample_h: 3 upsample_w: 5",
        "scale: 2 upsample_w: 5 upsample_h: 3"}) {
    Enlarge(param)
        .Bottom({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})
        .Bottom({1, 1, 2, 3}, {0, 2, 4, 10, 12, 14})
        .ExpectTop({1, 1, 3, 5}, {1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 4, 0, 5, 0, 6});
  }
}

TEST_ON_DEVICES(Upsample, AgreesWithDifferencesAndOnEveryDevice) {
  for (const char* param : {"scale: 2", "scale: 3", "scale_h: 3 scale_w: 1"}) {
    LayerCase c = Enlarge(param);
    c.RandomBottom({3, 2, 3, 2}).ExpectGradient().ExpectBackendsAgree();
    c.ExpectGpuKernel();
    Enlarge(param).RandomBottom({1, 16, 2, 3}).ExpectBackendsAgree();
  }
  Enlarge("scale: 2")
      .RandomBottom({3, 2, 3, 2})
      .LabelBottom({3, 2, 3, 2}, 24)
      .ExpectBackendsAgree();
}

TEST(Upsample, ExplainsMistakes) {
  auto mistake = [](const std::string& param, const std::vector<std::string>& parts) {
    Enlarge(param).RandomBottom({1, 1, 2, 3}).ExpectMistake(parts);
  };
  mistake("scale: 0", {"must be positive, found 0"});
  mistake("scale_h: 2", {"scale_h and scale_w are both needed"});
  mistake("scale: 2 scale_h: 2 scale_w: 2", {"give one of scale"});
  mistake("scale_h: 2 scale_w: 2 upsample_h: 4 upsample_w: 6", {"give one of scale"});
  mistake("upsample_h: 4 upsample_w: 6", {"for Upsample with a mask"});
  mistake("scale: 2 pad_out_w: true", {"for Upsample with a mask"});
  Enlarge("scale: 2").RandomBottom({1, 2, 3}).ExpectMistake({"4 axes", "found 1x2x3"});
  Enlarge("scale: 2")
      .RandomBottom({1, 1, 2, 3})
      .RandomBottom({1, 1, 2, 2})
      .ExpectMistake({"the shape of bottom 0, 1x1x2x3; found 1x1x2x2; an Upsample before this one "
                      "gives bottom 0 the mask's size with upsample_h: 2 and upsample_w: 2"});
  Enlarge("upsample_h: 4 upsample_w: 6 pad_out_h: true")
      .RandomBottom({1, 1, 2, 3})
      .RandomBottom({1, 1, 2, 3})
      .ExpectMistake({"this field is for scale factors"});
  Enlarge("scale: 2")
      .Bottom({1, 1, 1, 1}, {1})
      .Bottom({1, 1, 1, 1}, {4})
      .ExpectMistake({"an index outside of the top's 2x2", "MAX Pooling"});
}

}  // namespace
}  // namespace doppio

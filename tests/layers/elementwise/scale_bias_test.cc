#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(Scale, MultipliesChannels) {
  LayerCase("type: 'Scale'")
      .Bottom({1, 2, 1, 2}, {1, 2, 3, 4})
      .Param(0, {10, -1})
      .ExpectTop({1, 2, 1, 2}, {10, 20, -3, -4})
      .ExpectBottomGradient({1, 2, 3, 4}, {10, 20, -3, -4});
}

TEST(Scale, StartsAsTheIdentity) {
  LayerCase("type: 'Scale' scale_param { bias_term: true }")
      .Bottom({1, 2}, {3, 4})
      .KeepFilledParams()
      .ExpectParam(0, {1, 1})
      .ExpectParam(1, {0, 0})
      .ExpectTop({1, 2}, {3, 4});
  LayerCase(
      "type: 'Scale' scale_param { bias_term: true filler { value: 2 } bias_filler { value: 5 } }")
      .Bottom({1, 2}, {3, 4})
      .KeepFilledParams()
      .ExpectTop({1, 2}, {11, 13});
}

TEST(Scale, AddsABias) {
  LayerCase("type: 'Scale' scale_param { bias_term: true }")
      .Bottom({3, 2}, {1, 2, 3, 4, 5, 6})
      .Param(0, {10, -1})
      .Param(1, {0.5, 7})
      .ExpectTop({3, 2}, {10.5, 5, 30.5, 3, 50.5, 1});
}

TEST(Scale, SpansAxes) {
  LayerCase("type: 'Scale' scale_param { axis: 0 num_axes: -1 }")
      .Bottom({2, 2}, {1, 2, 3, 4})
      .Param(0, {1, 10, 100, 1000})
      .ExpectTop({2, 2}, {1, 20, 300, 4000});
  LayerCase("type: 'Scale' scale_param { axis: 0 }")
      .Bottom({2, 2}, {1, 2, 3, 4})
      .Param(0, {10, 100})
      .ExpectTop({2, 2}, {10, 20, 300, 400});
  LayerCase("type: 'Scale' scale_param { num_axes: 0 bias_term: true }")
      .Bottom({2, 2}, {1, 2, 3, 4})
      .Param(0, {2})
      .Param(1, {1})
      .ExpectTop({2, 2}, {3, 5, 7, 9});
  LayerCase("type: 'Scale' scale_param { axis: -1 }")
      .Bottom({1, 2, 2}, {1, 2, 3, 4})
      .Param(0, {10, 100})
      .ExpectTop({1, 2, 2}, {10, 200, 30, 400});
}

TEST(Scale, TakesFactorsFromABottom) {
  LayerCase("type: 'Scale' scale_param { axis: 0 }")
      .Bottom({2, 2}, {1, 2, 3, 4})
      .Bottom({2}, {10, 100})
      .ExpectTop({2, 2}, {10, 20, 300, 400})
      .ExpectBottomGradient({1, 1, 1, 1}, {3, 7}, 1);
  LayerCase("type: 'Scale' scale_param { axis: 5 bias_term: true }")
      .Bottom({2}, {1, 2})
      .Bottom({}, {10})
      .Param(0, {3})
      .ExpectTop({2}, {13, 23})
      .ExpectBottomGradient({1, 1}, {3}, 1);
}

TEST(Bias, AddsWhatIsLearnedOrGiven) {
  LayerCase("type: 'Bias'")
      .Bottom({1, 2, 2}, {1, 2, 3, 4})
      .Param(0, {10, -1})
      .ExpectTop({1, 2, 2}, {11, 12, 2, 3});
  LayerCase("type: 'Bias' bias_param { filler { value: 4 } }")
      .Bottom({1, 1}, {1})
      .KeepFilledParams()
      .ExpectTop({1, 1}, {5});
  LayerCase("type: 'Bias' bias_param { axis: 0 }")
      .Bottom({2, 2}, {1, 2, 3, 4})
      .Bottom({2}, {10, 100})
      .ExpectTop({2, 2}, {11, 12, 103, 104})
      .ExpectBottomGradient({1, 2, 3, 4}, {3, 7}, 1)
      .ExpectBottomGradient({1, 2, 3, 4}, {1, 2, 3, 4}, 0);
}

TEST_ON_DEVICES(ScaleAndBias, AgreeWithDifferencesAndInEveryLayout) {
  const std::string types[] = {"type: 'Scale' scale_param {",
                               "type: 'Scale' scale_param { bias_term: true",
                               "type: 'Bias' bias_param {"};
  const std::string axes[] = {
      "", "axis: 0", "num_axes: 2", "num_axes: 0", "axis: 0 num_axes: -1", "axis: -1"};
  for (const std::string& type : types) {
    for (const std::string& axis : axes) {
      const Shape shape = {3, 5, 2, 1};
      LayerCase c(type + " " + axis + " }");
      c.RandomBottom(shape).ExpectTopShape(shape).ExpectGradient().ExpectBackendsAgree();
      c.InPlace().ExpectGradient().ExpectBackendsAgree();
    }
    LayerCase(type + " }").RandomBottom({1, 2, 3}).ExpectGradient().ExpectBackendsAgree();
    LayerCase(type + " }").RandomBottom({3, 19, 2, 3}).ExpectBackendsAgree();
    LayerCase(type + " }")
        .RandomBottom({3, 5, 2})
        .RandomBottom({5})
        .ExpectGradient()
        .ExpectBackendsAgree();
    LayerCase(type + " axis: 0 }")
        .RandomBottom({3, 5, 2})
        .RandomBottom({3, 5, 2})
        .ExpectGradient()
        .ExpectBackendsAgree();
    LayerCase(type + " }")
        .RandomBottom({3, 5, 2})
        .RandomBottom({})
        .InPlace()
        .ExpectGradient()
        .ExpectBackendsAgree();
  }
}

// The shapes make the GPU use each of its algorithms for sums over channels.
TEST_ON_DEVICES(ScaleAndBias, AgreeForManyChannelsAndForLongOnes) {
  for (const char* layer :
       {"type: 'Scale'", "type: 'Scale' scale_param { bias_term: true }", "type: 'Bias'"}) {
    for (const Shape& shape : {Shape{40, 300}, Shape{33, 70, 2, 2}, Shape{2, 3, 20, 20}}) {
      LayerCase c(layer);
      c.RandomBottom(shape).ExpectBackendsAgree();
      c.ExpectGpuKernel();
      c.ExpectNarrowOnGpu();
      c.ExpectNoGpuConversions();
    }
  }
}

TEST(ScaleAndBias, ExplainMistakes) {
  LayerCase("type: 'Scale' scale_param { axis: 2 }")
      .Bottom({1, 2}, {1, 2})
      .ExpectMistake({"axis 2", "shape is 1x2"});
  LayerCase("type: 'Scale' scale_param { num_axes: 2 }")
      .Bottom({1, 2}, {1, 2})
      .ExpectMistake({"num_axes 2 from axis 1", "-1 means all"});
  LayerCase("type: 'Bias' bias_param { num_axes: -2 }")
      .Bottom({1, 2}, {1, 2})
      .ExpectMistake({"num_axes -2"});
  LayerCase("type: 'Bias' bias_param { axis: -3 }")
      .Bottom({1, 2}, {1, 2})
      .ExpectMistake({"axis -3"});
  LayerCase("type: 'Scale'")
      .Bottom({1, 2}, {1, 2})
      .Bottom({3}, {1, 2, 3})
      .ExpectMistake({"bottom 1 of shape 3 does not match bottom 0 of shape 1x2 from axis 1"});
  LayerCase("type: 'Bias'")
      .Bottom({1, 2}, {1, 2})
      .Bottom({2, 1}, {1, 2})
      .ExpectMistake({"does not match"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Normalize(const std::string& param = "") {
  return LayerCase("type: 'BN' bn_param { " + param + " }");
}

TEST(BN, NormalizesByTheBatchAndFollowsIt) {
  Normalize("eps: 3")  // with a variance of 1, the deviation is 2
      .Bottom({2, 1, 1, 2}, {4, 6, 4, 6})
      .Param(0, {10})
      .Param(1, {100})
      .Param(2, {1})
      .Param(3, {2})
      .ExpectTop({2, 1, 1, 2}, {95, 105, 95, 105})
      .ExpectParam(2, {0.9 * 1 + 0.1 * 5})
      .ExpectParam(3, {0.9 * 2 + 0.1 * 1});
  Normalize("momentum: 0.25")
      .Bottom({2, 1}, {4, 6})
      .Param(2, {1})
      .Param(3, {2})
      .ExpectParam(2, {0.25 * 1 + 0.75 * 5})
      .ExpectParam(3, {0.25 * 2 + 0.75 * 1});
}

TEST(BN, GoesByTheRunningStatisticsInTesting) {
  for (const bool frozen : {false, true}) {
    LayerCase c = Normalize(frozen ? "eps: 1 frozen: true" : "eps: 1");
    c.InPhase(frozen ? TRAIN : TEST)
        .Bottom({1, 2, 1, 2}, {1, 2, 3, 4})
        .Param(0, {1, 10})
        .Param(1, {0, 100})
        .Param(2, {1, 2})
        .Param(3, {3, 24})
        .ExpectTop({1, 2, 1, 2}, {0, 0.5, 102, 104})
        .ExpectBottomGradient({1, 0, 1, 5}, {0.5, 0, 2, 10})
        .ExpectParam(2, {1, 2})
        .ExpectParam(3, {3, 24});
  }
}

TEST(BN, StartsAsTheIdentityOfWhatIsNormal) {
  Normalize("eps: 3").KeepFilledParams().Bottom({2, 1}, {4, 6}).ExpectTop({2, 1}, {-0.5, 0.5});
  Normalize("eps: 3 slope_filler { value: 4 } bias_filler { value: 7 }")
      .KeepFilledParams()
      .Bottom({2, 1}, {4, 6})
      .ExpectTop({2, 1}, {5, 9});
}

// SegNet's layer has the same type name but other fields.
TEST(BN, HasNoRunningStatisticsInSegNet) {
  for (const Phase phase : {TRAIN, TEST}) {
    Normalize("scale_filler { value: 2 } shift_filler { value: 1 }")
        .InPhase(phase)
        .KeepFilledParams()
        .Bottom({2, 1}, {4, 6})
        .ExpectTop({2, 1}, {-1, 3});
    Normalize("bn_mode: INFERENCE")
        .InPhase(phase)
        .Bottom({1, 2, 1, 1}, {4, 6})
        .Param(0, {10, 100})
        .Param(1, {1, 2})
        .ExpectTop({1, 2, 1, 1}, {41, 602});
  }
}

// From pspnet50_ADE20K_473.prototxt of PSPNet's first version.
TEST(BN, TakesTheFieldsOfEarlyPSPNet) {
  const char kFields[] =
      "scale_filler { type: 'constant' value: 2 } shift_filler { type: 'constant' value: 1 } "
      "moving_average: true decay: 0.05 eps: 3";
  Normalize(kFields)
      .KeepFilledParams()
      .Bottom({2, 1}, {4, 6})
      .ExpectTop({2, 1}, {0, 2})
      .ExpectParam(2, {0.05 * 5})
      .ExpectParam(3, {0.05 * 1});
  Normalize(kFields)
      .InPhase(TEST)
      .Bottom({2, 1}, {4, 6})
      .Param(0, {2})
      .Param(1, {1})
      .Param(2, {4})
      .Param(3, {1})
      .ExpectTop({2, 1}, {1, 3});
}

TEST_ON_DEVICES(BN, AgreesWithDifferencesAndOnEveryDevice) {
  for (const char* param :
       {"", "frozen: true", "shift_filler { value: 1 }", "bn_mode: INFERENCE"}) {
    for (const Phase phase : {TRAIN, TEST}) {
      LayerCase c = Normalize(param);
      c.InPhase(phase).RandomBottom({3, 2, 3, 2});
      const bool keeps_running = std::string(param).find('_') == std::string::npos;
      if (keeps_running) c.Param(2, {0.1, -0.2}).Param(3, {1, 2});
      c.ExpectGradient(1e-4, 1e-4).ExpectBackendsAgree(1e-4);
      c.ExpectGpuKernel();
    }
  }
  Normalize().RandomBottom({3, 16, 3, 4}).ExpectBackendsAgree(1e-4);
  Normalize().RandomBottom({3, 5}).ExpectBackendsAgree(1e-4);
}

TEST(BN, ExplainsMistakes) {
  auto mistake = [](const std::string& param, const std::vector<std::string>& parts) {
    Normalize(param).RandomBottom({2, 2}).ExpectMistake(parts);
  };
  mistake("scale_filler { } slope_filler { }", {"keep those of one"});
  mistake("bn_mode: LEARN frozen: true", {"keep those of one"});
  mistake("bn_mode: LEARN moving_average: true", {"keep one"});
  mistake("decay: 0.1", {"only with moving_average: true"});
  mistake("momentum: 2", {"momentum 2", "outside [0, 1]"});
  mistake("eps: 0", {"eps must be positive"});
  Normalize().RandomBottom({2}).ExpectMistake({"BN needs at least 2 axes"});
}

}  // namespace
}  // namespace doppio

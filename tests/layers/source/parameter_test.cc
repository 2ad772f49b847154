#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST_ON_DEVICES(Parameter, ShowsWhatItLearns) {
  LayerCase c("type: 'Parameter' parameter_param { shape { dim: 1 dim: 3 } }");
  c.Param(0, {1, -2, 3}).ExpectTop({1, 3}, {1, -2, 3}).ExpectGradient().ExpectBackendsAgree();
  c.ExpectGpuKernel();
  LayerCase("type: 'Parameter' parameter_param { shape { } }")
      .Param(0, {7})
      .ExpectTop({}, {7})
      .ExpectGradient();
}

TEST(Parameter, StartsAtZero) {
  LayerCase("type: 'Parameter' parameter_param { shape { dim: 2 } }")
      .KeepFilledParams()
      .ExpectTop({2}, {0, 0});
}

TEST(Parameter, RefusesEmptyShapes) {
  LayerCase("type: 'Parameter' parameter_param { shape { dim: 2 dim: 0 } }")
      .ExpectMistake({"2x0", "below 1"});
}

}  // namespace
}  // namespace doppio

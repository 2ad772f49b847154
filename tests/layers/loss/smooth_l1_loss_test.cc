#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase SmoothL1LossCase(const std::string& param = "") {
  return LayerCase("type: 'SmoothL1Loss' smooth_l1_loss_param { " + param + " }");
}

TEST(SmoothL1Loss, IsSquaredNearTheTargetAndADistanceElsewhere) {
  LayerCase c = SmoothL1LossCase();
  c.Bottom({2, 2}, {0.5, 3, -3, 1}).Bottom({2, 2}, {0, 1, 0, 1});
  c.ExpectTop({}, {(0.125 + 1.5 + 2.5) / 2})
      .ExpectBottomGradient({2}, {0.5, 1, -1, 0}, 0)
      .ExpectBottomGradient({2}, {-0.5, -1, 1, 0}, 1);
}

TEST(SmoothL1Loss, IsSteeperWithSigma) {
  SmoothL1LossCase("sigma: 2")
      .Bottom({1, 2}, {0.125, 2})
      .Bottom({1, 2}, {0, 0})
      .ExpectTop({}, {0.03125 + 1.875})
      .ExpectBottomGradient({1}, {0.5, 1});
}

TEST(SmoothL1Loss, TakesWeightsInsideAndOutside) {
  // The inside weight makes the difference 0.25 * 2; the outside weight multiplies its loss by 3.
  SmoothL1LossCase()
      .Bottom({1, 2}, {0.25, 7})
      .Bottom({1, 2}, {0, 0})
      .Bottom({1, 2}, {2, 0})
      .Bottom({1, 2}, {3, 5})
      .ExpectTop({}, {0.375})
      .ExpectBottomGradient({1}, {3, 0}, 0)
      .ExpectBottomGradient({1}, {-3, 0}, 1);
  SmoothL1LossCase()
      .Bottom({1, 2}, {0.25, 7})
      .Bottom({1, 2}, {0, 0})
      .Bottom({1, 2}, {2, 0})
      .ExpectTop({}, {0.125})
      .ExpectBottomGradient({1}, {1, 0});
}

TEST(SmoothL1Loss, IgnoresLossParam) {
  LayerCase("type: 'SmoothL1Loss' loss_param { normalization: NONE }")
      .Bottom({2}, {2, 2})
      .Bottom({2}, {0, 0})
      .ExpectTop({}, {1.5});
}

TEST_ON_DEVICES(SmoothL1Loss, ObeysLossParamByTheNameOfRfcn) {
  const auto loss = [](const std::string& type, const std::string& param) {
    LayerCase c("type: '" + type + "' loss_param { " + param + " }");
    c.Bottom({2, 1, 1, 2}, {2, 2, 2, 2}).Bottom({2, 1, 1, 2}, {0, 0, 0, 0});
    return c;
  };
  loss("SmoothL1LossOHEM", "").ExpectTop({}, {6.0 / 4});
  loss("SmoothL1LossOHEM", "normalization: BATCH_SIZE").ExpectTop({}, {6.0 / 2});
  loss("SmoothL1LossOHEM", "normalization: NONE").ExpectTop({}, {6});
  for (const char* type : {"SmoothL1LossOHEM", "SmoothL1Loss"}) {
    LayerCase c = loss(type, "normalization: PRE_FIXED pre_fixed_normalizer: 8");
    c.ExpectTop({}, {6.0 / 8}).ExpectBottomGradient({1}, {0.125, 0.125, 0.125, 0.125});
    c.ExpectBackendsAgree();
    loss(type, "normalization: PRE_FIXED pre_fixed_normalizer: 0")
        .ExpectMistake({"pre_fixed_normalizer"});
  }
}

TEST_ON_DEVICES(SmoothL1Loss, ShowsTheLossOfEachPositionInASecondTop) {
  const std::string weights = " loss_weight: 2 loss_weight: 0";
  LayerCase rows("type: 'SmoothL1Loss'" + weights);
  rows.Bottom({2, 2}, {0.5, 3, -3, 1}).Bottom({2, 2}, {0, 1, 0, 1}).Tops(2);
  rows.ExpectTop({2, 1, 1, 1}, {0.125 + 1.5, 2.5}, 1e-5, 1).ExpectGradient().ExpectBackendsAgree();
  LayerCase("type: 'SmoothL1LossOHEM'" + weights)
      .Bottom({1, 2, 1, 2}, {2, 3, 4, 0})
      .Bottom({1, 2, 1, 2}, {0, 0, 0, 0})
      .Tops(2)
      .ExpectTop({1, 1, 1, 2}, {1.5 + 3.5, 2.5}, 1e-5, 1)
      .ExpectGradient();
}

TEST_ON_DEVICES(SmoothL1Loss, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* sigma : {"sigma: 1", "sigma: 3"}) {
    for (const Shape& shape : {Shape{3, 5, 2, 1}, Shape{1, 3}}) {
      LayerCase c = SmoothL1LossCase(sigma);
      c.RandomBottom(shape, -2, 2).RandomBottom(shape).AsLoss();
      c.ExpectGradient().ExpectBackendsAgree();
      c.RandomBottom(shape, 0, 1).ExpectGradient().ExpectBackendsAgree();
      c.RandomBottom(shape, 0, 1).ExpectGradient().ExpectBackendsAgree();
      EXPECT_EQ(c.BottomGradient(2), std::vector<double>()) << "weights do not learn";
    }
  }
}

TEST_ON_DEVICES(SmoothL1Loss, HasAKernelForGpus) {
  LayerCase c = SmoothL1LossCase();
  c.RandomBottom({3, 5700}, -2, 2).RandomBottom({3, 5700}).AsLoss().ExpectBackendsAgree();
  c.ExpectGpuKernel();
}

TEST(SmoothL1Loss, ExplainsMistakes) {
  SmoothL1LossCase().RandomBottom({2, 3}).RandomBottom({2, 2}).ExpectMistake(
      {"target 'b1' is 2x2", "prediction 'b0' is 2x3"});
  SmoothL1LossCase()
      .RandomBottom({2, 3})
      .RandomBottom({2, 3})
      .RandomBottom({2, 3})
      .RandomBottom({3, 2})
      .ExpectMistake({"outside weights 'b3' is 3x2", "prediction 'b0' is 2x3"});
  SmoothL1LossCase("sigma: 0")
      .RandomBottom({1})
      .RandomBottom({1})
      .ExpectMistake({"sigma is 0", "positive"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include "layers/shape/reduction_form.h"
#include "tests/layers/common/two_ranks.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Reduced(const std::string& param) {
  return LayerCase("type: 'Reduction' reduction_param { " + param + " }");
}

TEST(Reduction, FormsEachSum) {
  const std::vector<double> x = {1, -2, 3, -4};
  Reduced("").Bottom({2, 2}, x).ExpectTop({}, {-2});
  Reduced("operation: ASUM").Bottom({2, 2}, x).ExpectTop({}, {10});
  Reduced("operation: SUMSQ").Bottom({2, 2}, x).ExpectTop({}, {30});
  Reduced("operation: MEAN").Bottom({2, 2}, x).ExpectTop({}, {-0.5});
}

TEST(Reduction, TakesTheAxesFromAxisOnAndAFactor) {
  const std::vector<double> x = {1, -2, 3, -4};
  Reduced("axis: 1 coeff: 2")
      .Bottom({2, 2}, x)
      .ExpectTop({2}, {-2, -2})
      .ExpectBottomGradient({1, 3}, {2, 2, 6, 6});
  Reduced("axis: -1 operation: MEAN coeff: 3").Bottom({1, 2, 2}, x).ExpectTop({1, 2}, {-1.5, -1.5});
  Reduced("axis: 1 operation: ASUM coeff: 0.5")
      .Bottom({2, 2}, {1, -2, 0, -4})
      .ExpectTop({2}, {1.5, 2})
      .ExpectBottomGradient({2, 4}, {1, -1, 0, -2});
  Reduced("axis: 1 operation: SUMSQ")
      .Bottom({2, 2}, x)
      .ExpectBottomGradient({1, 2}, {2, -4, 12, -16});
}

TEST_ON_DEVICES(Reduction, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* operation : {"SUM", "ASUM", "SUMSQ", "MEAN"}) {
    for (const char* axis : {"axis: 0", "axis: 1", "axis: 2", "axis: -1"}) {
      LayerCase c = Reduced("operation: " + std::string(operation) + " coeff: -0.7 " + axis);
      c.RandomBottom({3, 5, 2, 3}).ExpectGradient(1e-4, 1e-5, 0).ExpectBackendsAgree();
      c.ExpectGpuKernel();
    }
  }
}

// The shapes make the GPU use each of its ways to divide the work.
TEST_ON_DEVICES(Reduction, AgreesForLongRowsAndForMany) {
  Reduced("operation: SUMSQ").RandomBottom({3, 20000}).ExpectBackendsAgree();
  Reduced("axis: 1").RandomBottom({700, 40}).ExpectBackendsAgree();
}

TEST_ON_DEVICES(Reduction, MayBeALoss) {
  LayerCase c("type: 'Reduction' reduction_param { operation: SUMSQ coeff: 0.5 } loss_weight: 0.7");
  c.RandomBottom({3, 4}).AsLoss().ExpectGradient().ExpectBackendsAgree();
}

// The loss of a run is the mean of its ranks' losses, so a sum over the batch is multiplied by the
// number of ranks.
TEST(Reduction, OverTheBatchAsALossIsThatOfAllRanks) {
  OneOfTwo group(0);
  Pass pass;
  pass.group = &group;
  const auto factor = [&](const std::string& param) {
    const Graph graph = GraphFromText(
        "layer { name: 'in' type: 'TestInput' top: 'x' input_param { shape { dim: 4 dim: 2 } } }\n"
        "layer { name: 'r' type: 'Reduction' bottom: 'x' top: 'r' reduction_param { coeff: 3 " +
        param + " }");
    return std::any_cast<ReductionForm>(graph.nodes[1].shape.form).Factor(pass);
  };
  EXPECT_EQ(factor("} loss_weight: 0.5"), 6);
  EXPECT_EQ(factor("operation: MEAN } loss_weight: 0.5"), 3.0 / 8);
  EXPECT_EQ(factor("axis: 1 } loss_weight: 0.5"), 3);
  EXPECT_EQ(factor("}"), 3);
}

TEST(Reduction, ExplainsMistakes) {
  Reduced("axis: 2").RandomBottom({2, 2}).ExpectMistake({"axis 2 does not exist", "2x2"});
  Reduced("axis: -3").RandomBottom({2, 2}).ExpectMistake({"axis -3 does not exist"});
}

}  // namespace
}  // namespace doppio

// Tests HingeLoss and MultinomialLogisticLoss.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/common/logarithms.h"
#include "tests/layers/loss/wrong_label_case.h"

namespace doppio {
namespace {

LayerCase Hinge(const std::string& param = "") {
  return LayerCase("type: 'HingeLoss' hinge_loss_param { " + param + " }");
}
LayerCase Multinomial() { return LayerCase("type: 'MultinomialLogisticLoss'"); }

TEST(HingeLoss, IsOneAgainstAll) {
  LayerCase c = Hinge();
  c.Bottom({2, 3}, {0.5, -2, 3, 0, 0, 0}).Bottom({2}, {0, 2});
  c.ExpectTop({}, {3.75}).ExpectBottomGradient({2}, {-1, 0, 1, 1, 1, -1});
}

TEST(HingeLoss, MayBeSquared) {
  LayerCase c = Hinge("norm: L2");
  c.Bottom({2, 3}, {0.5, -2, 3, 0, 0, 0}).Bottom({2}, {0, 2});
  c.ExpectTop({}, {9.625}).ExpectBottomGradient({2}, {-1, 0, 8, 2, 2, -2});
}

TEST(HingeLoss, CountsAllValuesOfASampleAsScores) {
  Hinge()
      .Bottom({1, 2, 1, 2}, {0, 0, 0, 5})
      .Bottom({1, 1, 1, 1}, {3})
      .ExpectTop({}, {3})
      .ExpectBottomGradient({1}, {1, 1, 1, 0});
}

TEST(MultinomialLogisticLoss, IsTheMeanOfNegativeLogs) {
  Multinomial()
      .Bottom({2, 3}, {0.5, 0.25, 0.25, 0.1, 0.8, 0.5})
      .Bottom({2}, {1, 2})
      .ExpectTop({}, {1.5 * kLn2})
      .ExpectBottomGradient({2}, {0, -4, 0, 0, 0, -2});
}

TEST(MultinomialLogisticLoss, BoundsProbabilities) {
  Multinomial()
      .Bottom({1, 2}, {1, 0})
      .Bottom({1}, {1})
      .ExpectTop({}, {20 * kLn10})
      .ExpectBottomGradient({1e-20}, {0, -1});
}

TEST(LabelLosses, CutLabelsToIntegers) {
  Hinge().Bottom({1, 2}, {2, -2}).Bottom({1}, {0.9}).ExpectTop({}, {0});
  Multinomial().Bottom({1, 2}, {0.5, 1}).Bottom({1}, {0.9}).ExpectTop({}, {kLn2});
}

TEST_ON_DEVICES(LabelLosses, AgreeWithDifferencesAndInEveryLayout) {
  for (const Shape& shape : {Shape{3, 5, 2, 1}, Shape{1, 3}}) {
    const int classes = static_cast<int>(shape.count(1));
    for (const char* norm : {"norm: L1", "norm: L2"}) {
      LayerCase c = Hinge(norm);
      c.RandomBottom(shape, -3, 3).LabelBottom({shape[0]}, classes).AsLoss();
      c.ExpectGradient().ExpectBackendsAgree();
      EXPECT_EQ(c.BottomGradient(1), std::vector<double>()) << "labels do not learn";
    }
    LayerCase c = Multinomial();
    c.RandomBottom(shape, 0.2, 1).LabelBottom({shape[0]}, classes).AsLoss();
    c.ExpectGradient().ExpectBackendsAgree();
  }
}

TEST_ON_DEVICES(LabelLosses, HaveKernelsForGpus) {
  for (const char* type : {"HingeLoss", "MultinomialLogisticLoss"}) {
    LayerCase c("type: '" + std::string(type) + "'");
    // The number of scores makes several blocks of threads share the sum.
    c.RandomBottom({3, 5700}, 0.1, 1).LabelBottom({3}, 5700).AsLoss().ExpectBackendsAgree();
    c.ExpectGpuKernel();
  }
}

TEST_ON_GPU(HingeLoss, NamesAWrongLabelWhenAGpuHasMetIt) {
  ExpectGpuNamesWrongLabel("type: 'HingeLoss'", 3);
}

TEST_ON_GPU(MultinomialLogisticLoss, NamesAWrongLabelWhenAGpuHasMetIt) {
  ExpectGpuNamesWrongLabel("type: 'MultinomialLogisticLoss'", 20 * kLn10);
}

TEST(LabelLosses, ExplainMistakes) {
  for (const char* type : {"HingeLoss", "MultinomialLogisticLoss"}) {
    const std::string layer = "type: '" + std::string(type) + "'";
    LayerCase(layer).RandomBottom({2, 3}).RandomBottom({2, 2}).ExpectMistake(
        {"label 'b1' has 4 values (2x2)", "2 are needed, one per sample of 'b0' (2x3)"});
    LayerCase(layer)
        .RandomBottom({2, 3})
        .Bottom({2}, {0, 3})
        .ExpectMistake({"label 3 at sample 1 is outside 0..2"});
    LayerCase(layer).RandomBottom({2, 3}).ExpectMistake({"takes", "bottom"});
  }
}

}  // namespace
}  // namespace doppio

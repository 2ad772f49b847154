// Tests EuclideanLoss, L1Loss and SigmoidCrossEntropyLoss.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/common/logarithms.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(EuclideanLoss, IsHalfTheMeanSquaredDistance) {
  LayerCase("type: 'EuclideanLoss'")
      .Bottom({3, 2}, {1, 2, 0, 1, 5, 2})
      .Bottom({3, 2}, {0, 0, 0, 2, 2, 2})
      .ExpectTop({}, {2.5})
      .ExpectBottomGradient({3}, {1, 2, 0, -1, 3, 0}, 0)
      .ExpectBottomGradient({3}, {-1, -2, 0, 1, -3, 0}, 1);
  LayerCase("type: 'EuclideanLoss'").Bottom({1}, {3}).Bottom({1}, {1}).ExpectTop({}, {2});
}

TEST(EuclideanLoss, IgnoresTheFieldsOfOtherLosses) {
  LayerCase("type: 'EuclideanLoss' loss_param { normalization: NONE ignore_label: 0 }")
      .Bottom({2}, {1, 2})
      .Bottom({2}, {0, 0})
      .ExpectTop({}, {1.25});
}

TEST(EuclideanLoss, TakesAnyShapeWithAsManyValuesPerSample) {
  LayerCase("type: 'EuclideanLoss'")
      .Bottom({2, 2}, {1, 0, 0, 1})
      .Bottom({2, 2, 1}, {0, 0, 0, 0})
      .ExpectTop({}, {0.5});
}

TEST(EuclideanLoss, NeedsNoNameForItsTop) {
  LayerCase("type: 'EuclideanLoss'")
      .RandomBottom({3, 2})
      .RandomBottom({3, 2})
      .Tops(0)
      .ExpectTopShape({})
      .ExpectGradient();
}

TEST_ON_DEVICES(EuclideanLoss, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* weight : {"", "loss_weight: 2.5"}) {
    for (const Shape& shape : {Shape{3, 5, 2, 1}, Shape{1, 3}}) {
      LayerCase("type: 'EuclideanLoss' " + std::string(weight))
          .RandomBottom(shape)
          .RandomBottom(shape)
          .AsLoss()
          .ExpectGradient()
          .ExpectBackendsAgree();
    }
  }
  LayerCase("type: 'EuclideanLoss' propagate_down: true propagate_down: false")
      .RandomBottom({3, 2})
      .RandomBottom({3, 2})
      .AsLoss()
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST(L1Loss, IsTheSumOfDistancesOverTheBatch) {
  LayerCase("type: 'L1Loss'")
      .Bottom({2, 2}, {1, -2, 0.5, 3})
      .Bottom({2, 2}, {0, 0, 0.5, 5})
      .ExpectTop({}, {2.5})
      .ExpectBottomGradient({2}, {1, -1, 0, -1}, 0)
      .ExpectBottomGradient({2}, {-1, 1, 0, 1}, 1);
}

TEST_ON_DEVICES(L1Loss, AgreesWithDifferencesAndInEveryLayout) {
  for (const Shape& shape : {Shape{3, 5, 2, 1}, Shape{1, 3}}) {
    LayerCase("type: 'L1Loss' loss_weight: 2.5")
        .RandomBottom(shape)
        .RandomBottom(shape)
        .AsLoss()
        .ExpectGradient()
        .ExpectBackendsAgree();
  }
}

TEST(SigmoidCrossEntropyLoss, IsDividedByTheBatch) {
  // The losses are ln 2 for a probability of 1/2 and ln 4 for one of 3/4 on the wrong side.
  LayerCase("type: 'SigmoidCrossEntropyLoss'")
      .Bottom({2, 1}, {0, kLn3})
      .Bottom({2, 1}, {1, 0})
      .ExpectTop({}, {1.5 * kLn2})
      .ExpectBottomGradient({2}, {-0.5, 0.75});
  LayerCase("type: 'SigmoidCrossEntropyLoss'")
      .Bottom({1, 2}, {0, kLn3})
      .Bottom({1, 2}, {1, 0})
      .ExpectTop({}, {3 * kLn2});
}

// As Mixup writes labels. The probabilities are 1/2 and 3/4.
TEST_ON_DEVICES(SigmoidCrossEntropyLoss, TakesSharesOfClasses) {
  LayerCase("type: 'SigmoidCrossEntropyLoss'")
      .Bottom({1, 2}, {0, kLn3})
      .Bottom({1, 2}, {0.25, 0.75})
      .ExpectTop({}, {kLn2 + 2 * kLn2 - 0.75 * kLn3})
      .ExpectBottomGradient({2}, {0.5, 0})
      .ExpectBackendsAgree();
}

TEST(SigmoidCrossEntropyLoss, DoesNotOverflow) {
  LayerCase("type: 'SigmoidCrossEntropyLoss'")
      .Bottom({1, 4}, {1000, -1000, 1000, -1000})
      .Bottom({1, 4}, {1, 0, 0, 1})
      .ExpectTop({}, {2000})
      .ExpectBottomGradient({1}, {0, 0, 1, -1});
}

TEST(SigmoidCrossEntropyLoss, IsNormalisedAsTold) {
  auto expect = [](const std::string& param, double loss) {
    LayerCase("type: 'SigmoidCrossEntropyLoss' loss_param { ignore_label: 255 " + param + " }")
        .Bottom({2, 2}, {0, 9, 0, 0})
        .Bottom({2, 2}, {1, 255, 0, 1})
        .ExpectTop({}, {loss})
        .AsLoss()
        .ExpectGradient();
  };
  expect("", 1.5 * kLn2);
  expect("normalization: BATCH_SIZE", 1.5 * kLn2);
  expect("normalization: VALID", kLn2);
  expect("normalization: FULL", 0.75 * kLn2);
  expect("normalization: NONE", 3 * kLn2);
  expect("normalization: PRE_FIXED pre_fixed_normalizer: 6", 0.5 * kLn2);
  expect("normalize: true", kLn2);
  expect("normalize: false", 1.5 * kLn2);
  expect("normalize: true normalization: NONE", 3 * kLn2);
}

TEST(SigmoidCrossEntropyLoss, IgnoresTargetsByTheirIntegerPart) {
  LayerCase("type: 'SigmoidCrossEntropyLoss' loss_param { ignore_label: 0 normalization: VALID }")
      .Bottom({3}, {5, 0, 5})
      .Bottom({3}, {0.9, 1, -0.9})
      .ExpectTop({}, {kLn2})
      .ExpectBottomGradient({1}, {0, -0.5, 0});
}

TEST(SigmoidCrossEntropyLoss, IsZeroWhenEverythingIsIgnored) {
  LayerCase("type: 'SigmoidCrossEntropyLoss' loss_param { ignore_label: 1 normalization: VALID }")
      .Bottom({2}, {3, 4})
      .Bottom({2}, {1, 1})
      .ExpectTop({}, {0})
      .ExpectBottomGradient({1}, {0, 0});
}

TEST_ON_DEVICES(SigmoidCrossEntropyLoss, AgreesWithDifferencesAndInEveryLayout) {
  for (const Shape& shape : {Shape{3, 5, 2, 1}, Shape{1, 3}}) {
    LayerCase c("type: 'SigmoidCrossEntropyLoss' loss_weight: 0.5");
    c.RandomBottom(shape, -3, 3)
        .RandomBottom(shape, 0, 1)
        .AsLoss()
        .ExpectGradient()
        .ExpectBackendsAgree();
    EXPECT_EQ(c.BottomGradient(1), std::vector<double>()) << "targets do not learn";
  }
}

TEST_ON_DEVICES(SigmoidCrossEntropyLoss, IgnoresTargetsOnEveryDevice) {
  LayerCase("type: 'SigmoidCrossEntropyLoss' loss_param { ignore_label: 1 normalization: VALID }")
      .RandomBottom({3, 7})
      .LabelBottom({3, 7}, 3)
      .AsLoss()
      .ExpectBackendsAgree();
}

TEST_ON_DEVICES(ElementLosses, HaveKernelsForGpus) {
  for (const char* type : {"EuclideanLoss", "L1Loss", "SigmoidCrossEntropyLoss"}) {
    LayerCase c("type: '" + std::string(type) + "'");
    // The number of values makes several blocks of threads share the sum.
    c.RandomBottom({3, 5700}).RandomBottom({3, 5700}, 0, 1).AsLoss().ExpectBackendsAgree();
    c.ExpectGpuKernel();
    c.ExpectNarrowOnGpu();
  }
}

TEST(ElementLosses, ExplainMistakes) {
  for (const char* type : {"EuclideanLoss", "L1Loss", "SigmoidCrossEntropyLoss"}) {
    const std::string layer = "type: '" + std::string(type) + "' ";
    LayerCase(layer).RandomBottom({2, 3}).RandomBottom({2, 2}).ExpectMistake(
        {"target 'b1' is 2x2", "prediction 'b0' is 2x3", "same number of values"});
    LayerCase(layer).RandomBottom({2, 3}).RandomBottom({3, 2}).ExpectMistake({"same first extent"});
    LayerCase(layer).RandomBottom({2, 3}).ExpectMistake({"takes", "bottom"});
  }
  LayerCase(
      "type: 'SigmoidCrossEntropyLoss' loss_param { normalization: PRE_FIXED pre_fixed_normalizer: "
      "0 }")
      .RandomBottom({1})
      .RandomBottom({1})
      .ExpectMistake({"pre_fixed_normalizer is 0", "positive"});
}

}  // namespace
}  // namespace doppio

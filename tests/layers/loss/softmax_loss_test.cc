#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "tests/layers/common/logarithms.h"
#include "tests/layers/loss/wrong_label_case.h"

namespace doppio {
namespace {

LayerCase SoftmaxLossCase(const std::string& more = "") {
  return LayerCase("type: 'SoftmaxWithLoss' " + more);
}

TEST(SoftmaxWithLoss, IsTheMeanCrossEntropy) {
  // The probabilities are 1/6, 1/3 and 1/2, so the losses are ln 6, ln 2 and ln 3.
  SoftmaxLossCase()
      .Bottom({3, 3}, {0, kLn2, kLn3, 0, kLn2, kLn3, 0, kLn2, kLn3})
      .Bottom({3}, {0, 2, 1})
      .ExpectTop({}, {2 * std::log(6.0) / 3})
      .ExpectBottomGradient(
          {3}, {-5.0 / 6, 1.0 / 3, 0.5, 1.0 / 6, 1.0 / 3, -0.5, 1.0 / 6, -2.0 / 3, 0.5});
  SoftmaxLossCase().Bottom({1, 3}, {0, kLn2, kLn3}).Bottom({1, 1, 1, 1}, {2}).ExpectTop({}, {kLn2});
}

TEST(SoftmaxWithLoss, TakesALabelForEveryPosition) {
  // All scores are equal except at position 1 of sample 0, where class 0 has the probability 3/4.
  SoftmaxLossCase()
      .Bottom({2, 2, 2}, {0, kLn3, 0, 0, 5, 6, 5, 6})
      .Bottom({2, 1, 2}, {0, 1, 1, 0})
      .ExpectTop({}, {5 * kLn2 / 4});
  SoftmaxLossCase("softmax_param { axis: -1 }")
      .Bottom({1, 2, 2}, {0, 0, kLn3, 0})
      .Bottom({1, 2}, {1, 1})
      .ExpectTop({}, {1.5 * kLn2});
}

TEST_ON_DEVICES(SoftmaxWithLoss, IsNormalisedAsTold) {
  auto expect = [](const std::string& param, double loss) {
    LayerCase c = SoftmaxLossCase("loss_param { ignore_label: 1 " + param + " }");
    c.Bottom({2, 2, 2}, {0, 9, 0, 0, 0, 0, 0, 0}).Bottom({2, 2}, {0, 1, 0, 0});
    c.ExpectTop({}, {loss}).AsLoss().ExpectGradient().ExpectBackendsAgree();
  };
  expect("", kLn2);
  expect("normalization: VALID", kLn2);
  expect("normalization: FULL", 0.75 * kLn2);
  expect("normalization: BATCH_SIZE", 1.5 * kLn2);
  expect("normalization: NONE", 3 * kLn2);
  expect("normalization: PRE_FIXED pre_fixed_normalizer: 0.5", 6 * kLn2);
  expect("normalize: true", kLn2);
  expect("normalize: false", 1.5 * kLn2);
  expect("normalize: false normalization: FULL", 0.75 * kLn2);
}

TEST(SoftmaxWithLoss, IsZeroWhenEveryLabelIsIgnored) {
  SoftmaxLossCase("loss_param { ignore_label: -1 }")
      .RandomBottom({3, 2})
      .Bottom({3}, {-1, -1, -1})
      .ExpectTop({}, {0})
      .ExpectBottomGradient({1}, {0, 0, 0, 0, 0, 0});
}

TEST(SoftmaxWithLoss, ClampsProbabilitiesAtTheSmallestNormalFloat) {
  SoftmaxLossCase()
      .Bottom({1, 2}, {1000, 0})
      .Bottom({1}, {1})
      .ExpectTop({}, {-std::log(FLT_MIN)})
      .ExpectBottomGradient({1}, {1, -1});
}

TEST(SoftmaxWithLoss, CutsLabelsToIntegers) {
  SoftmaxLossCase().Bottom({1, 2}, {0, kLn3}).Bottom({1}, {0.9}).ExpectTop({}, {2 * kLn2});
  SoftmaxLossCase("loss_param { ignore_label: 0 }")
      .Bottom({2, 2}, {0, 9, 0, 0})
      .Bottom({2}, {0.9, 1})
      .ExpectTop({}, {kLn2});
}

TEST_ON_DEVICES(SoftmaxWithLoss, ShowsTheProbabilitiesInASecondTop) {
  LayerCase c = SoftmaxLossCase();
  c.Bottom({1, 3}, {0, kLn2, kLn3})
      .Bottom({1}, {2})
      .Tops(2)
      .ExpectTop({}, {kLn2})
      .ExpectTop({1, 3}, {1.0 / 6, 1.0 / 3, 0.5}, 1e-5, 1);
  // Another loss reads top 1, so gradients come from both tops.
  for (const Shape& shape : {Shape{3, 4}, Shape{1, 3, 2, 2}}) {
    LayerCase both =
        SoftmaxLossCase("loss_weight: 2 loss_weight: 0 loss_param { ignore_label: 0 }");
    Shape labels = shape;
    labels[1] = 1;
    both.RandomBottom(shape).LabelBottom(labels, 3).Tops(2).ExpectGradient().ExpectBackendsAgree();
  }
  SoftmaxLossCase("loss_weight: 1 loss_weight: 0.5")
      .RandomBottom({3, 4})
      .LabelBottom({3}, 4)
      .Tops(2)
      .AsLoss()
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST_ON_DEVICES(SoftmaxWithLoss, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* more :
       {"", "loss_weight: 3", "softmax_param { axis: 2 }", "loss_param { ignore_label: 1 }"}) {
    const bool axis_2 = std::string(more).find("axis: 2") != std::string::npos;
    LayerCase c = SoftmaxLossCase(more);
    c.RandomBottom({3, 5, 3, 1}, -2, 2).LabelBottom(axis_2 ? Shape{3, 5, 1} : Shape{3, 3, 1}, 3);
    c.AsLoss().ExpectGradient().ExpectBackendsAgree();
    EXPECT_EQ(c.BottomGradient(1), std::vector<double>()) << "labels do not learn";
  }
  SoftmaxLossCase()
      .RandomBottom({1, 7})
      .LabelBottom({1}, 7)
      .AsLoss()
      .ExpectGradient()
      .ExpectBackendsAgree();
  SoftmaxLossCase()
      .RandomBottom({3, 10})
      .LabelBottom({3}, 10)
      .AsLoss()
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST_ON_DEVICES(SoftmaxWithLoss, ShowsTheLossOfEachLabelInAThirdTop) {
  for (const char* type : {"SoftmaxWithLoss", "SoftmaxWithLossOHEM"}) {
    LayerCase c("type: '" + std::string(type) +
                "' loss_weight: 1 loss_weight: 0 loss_weight: 0"
                " loss_param { ignore_label: 1 }");
    c.Bottom({3, 3}, {0, kLn2, kLn3, 0, kLn2, kLn3, 0, kLn2, kLn3}).Bottom({3, 1, 1, 1}, {0, 2, 1});
    c.Tops(3).ExpectTop({}, {std::log(12.0) / 2}, 1e-5, 0);
    c.ExpectTop({3, 1, 1, 1}, {std::log(6.0), kLn2, 0}, 1e-5, 2)
        .ExpectGradient()
        .ExpectBackendsAgree();
  }
  LayerCase positions = SoftmaxLossCase("loss_weight: 2 loss_weight: 0 loss_weight: 0");
  positions.Tops(3).RandomBottom({2, 3, 2, 2}).LabelBottom({2, 1, 2, 2}, 3).ExpectGradient();
  SoftmaxLossCase("loss_param { label_smoothing: 0.1 }")
      .Tops(3)
      .RandomBottom({1, 2})
      .LabelBottom({1}, 2)
      .ExpectMistake({"label_smoothing and a third top cannot be combined"});
}

TEST_ON_DEVICES(SoftmaxWithLoss, HasAKernelForGpus) {
  LayerCase c = SoftmaxLossCase();
  c.RandomBottom({3, 70}, -5, 5).LabelBottom({3}, 70).AsLoss().ExpectBackendsAgree();
  c.ExpectGpuKernel();
  c.ExpectNarrowOnGpu();
  // The number of labels makes several blocks of threads share the sum.
  SoftmaxLossCase("loss_param { ignore_label: 1 }")
      .RandomBottom({2, 3, 8500}, -5, 5)
      .LabelBottom({2, 8500}, 3)
      .AsLoss()
      .ExpectBackendsAgree();
}

TEST_ON_GPU(SoftmaxWithLoss, NamesAWrongLabelWhenAGpuHasMetIt) {
  ExpectGpuNamesWrongLabel("type: 'SoftmaxWithLoss'", kLn3);
  ExpectGpuNamesWrongLabel("type: 'SoftmaxWithLoss' loss_param { label_smoothing: 0.5 }", kLn3);
}

// With smoothing s, each of K classes gets s / K of the target, and the label also gets 1 - s.
TEST_ON_DEVICES(SoftmaxWithLoss, SmoothsLabels) {
  const double ln4 = 2 * kLn2, ln43 = ln4 - kLn3;
  SoftmaxLossCase("loss_param { label_smoothing: 0.2 }")
      .Bottom({1, 2}, {0, kLn3})
      .Bottom({1}, {0})
      .ExpectTop({}, {0.9 * ln4 + 0.1 * ln43})
      .ExpectBottomGradient({1}, {-0.65, 0.65});
  for (const char* more : {"", "ignore_label: 1 normalization: BATCH_SIZE"}) {
    for (const Shape& shape : {Shape{3, 5, 3, 1}, Shape{1, 5}}) {
      LayerCase c =
          SoftmaxLossCase("loss_param { label_smoothing: 0.3 " + std::string(more) + " }");
      Shape labels = shape;
      labels[1] = 1;
      c.RandomBottom(shape, -2, 2).LabelBottom(labels, 5).AsLoss();
      c.ExpectGradient().ExpectBackendsAgree();
      c.ExpectGpuKernel();
    }
  }
  LayerCase both =
      SoftmaxLossCase("loss_weight: 2 loss_weight: 0 loss_param { label_smoothing: 0.3 }");
  both.RandomBottom({3, 4}).LabelBottom({3}, 4).Tops(2).ExpectGradient().ExpectBackendsAgree();
}

constexpr char kWeights[] =
    "loss_param { weight_by_label_freqs: true class_weighting: 2 class_weighting: 0.5 ";

// SegNet's class weights do not change the divisor of the loss.
TEST_ON_DEVICES(SoftmaxWithLoss, WeighsTheLossesOfClasses) {
  const double ln4 = 2 * kLn2, ln43 = ln4 - kLn3;
  SoftmaxLossCase(kWeights + std::string("}"))
      .Bottom({2, 2}, {0, kLn3, 0, kLn3})
      .Bottom({2}, {0, 1})
      .ExpectTop({}, {ln4 + ln43 / 4})
      .ExpectBottomGradient({1}, {-0.75, 0.75, 0.0625, -0.0625});
  SoftmaxLossCase(kWeights + std::string("ignore_label: 1 }"))
      .Bottom({2, 2}, {0, kLn3, 0, kLn3})
      .Bottom({2}, {0, 1})
      .ExpectTop({}, {2 * ln4})
      .ExpectBottomGradient({1}, {-1.5, 1.5, 0, 0});
  for (const char* more : {"}", "ignore_label: 1 normalization: BATCH_SIZE }"}) {
    LayerCase c = SoftmaxLossCase(kWeights + std::string("class_weighting: 0 ") + more);
    c.RandomBottom({3, 3, 5, 1}, -2, 2).LabelBottom({3, 1, 5, 1}, 3).AsLoss();
    c.ExpectGradient().ExpectBackendsAgree();
    c.ExpectGpuKernel();
  }
}

// 6 and 2 samples: weights 8 / (2 * 6) and 8 / (2 * 2). A class without samples weighs nothing.
TEST_ON_DEVICES(SoftmaxWithLoss, WeighsClassesByTheirCounts) {
  const double ln4 = 2 * kLn2, ln43 = ln4 - kLn3;
  SoftmaxLossCase("loss_param { class_counts: [6, 2] }")
      .Bottom({2, 2}, {0, kLn3, 0, kLn3})
      .Bottom({2}, {0, 1})
      .ExpectTop({}, {(ln4 * 2 / 3 + ln43 * 2) / 2});
  SoftmaxLossCase("loss_param { class_counts: [3, 0, 3] }")
      .Bottom({2, 3}, {0, 0, 0, 0, 0, 0})
      .Bottom({2}, {0, 1})
      .ExpectTop({}, {kLn3 / 2});
  LayerCase c = SoftmaxLossCase("loss_param { class_counts: [5, 1, 30] ignore_label: 1 }");
  c.RandomBottom({3, 3, 5, 1}, -2, 2).LabelBottom({3, 1, 5, 1}, 3).AsLoss();
  c.ExpectGradient().ExpectBackendsAgree();
}

TEST(SoftmaxWithLoss, ExplainsMistakesInWeightsOfClasses) {
  auto with = [](const std::string& param) {
    LayerCase c = SoftmaxLossCase("loss_param { " + param + " }");
    c.RandomBottom({2, 2}).LabelBottom({2}, 2);
    return c;
  };
  const std::string on = "weight_by_label_freqs: true ";
  with("class_weighting: 1 class_weighting: 2")
      .ExpectMistake({"class_weighting has no effect without weight_by_label_freqs: true"});
  with(on).ExpectMistake({"one class_weighting for each of the 2 classes, found 0"});
  with(on + "class_weighting: 1").ExpectMistake({"each of the 2 classes, found 1"});
  with(on + "class_weighting: 1 class_weighting: -1").ExpectMistake({"class_weighting is -1"});
  with(on + "class_weighting: 1 class_weighting: 1 label_smoothing: 0.1")
      .ExpectMistake({"label_smoothing and class_weighting cannot be combined"});
  with("class_counts: 4")
      .ExpectMistake({"class_counts needs one number for each of the 2 classes, found 1"});
  with("class_counts: [4, -1]").ExpectMistake({"class_counts is -1"});
  with("class_counts: [0, 0]").ExpectMistake({"class_counts are all 0"});
  with("class_counts: [4, 1] label_smoothing: 0.1")
      .ExpectMistake({"label_smoothing and class_counts cannot be combined"});
  with("class_counts: [4, 1] " + on + "class_weighting: 1 class_weighting: 1")
      .ExpectMistake({"class_counts and class_weighting cannot be combined"});
  with("class_counts: [4, 1]")
      .Tops(3)
      .ExpectMistake({"class_counts and a third top cannot be combined"});
  with(on + "class_weighting: 1 class_weighting: 1")
      .Tops(3)
      .ExpectMistake({"class_weighting and a third top cannot be combined"});
  SoftmaxLossCase(kWeights + std::string("}"))
      .RandomBottom({2, 2})
      .RandomBottom({2, 2}, 0, 1)
      .ExpectMistake({"cannot be combined with class_weighting"});
  SoftmaxLossCase("loss_param { class_counts: [4, 1] }")
      .RandomBottom({2, 2})
      .RandomBottom({2, 2}, 0, 1)
      .ExpectMistake({"cannot be combined with class_counts"});
}

// Labels of the same shape as the predictions are targets for each class.
TEST(SoftmaxWithLoss, TakesSoftLabels) {
  const double ln4 = 2 * kLn2, ln43 = ln4 - kLn3;
  SoftmaxLossCase()
      .Bottom({1, 2}, {0, kLn3})
      .Bottom({1, 2}, {0.3, 0.7})
      .ExpectTop({}, {0.3 * ln4 + 0.7 * ln43})
      .ExpectBottomGradient({2}, {-0.1, 0.1});
  // The targets need not add up to 1.
  SoftmaxLossCase()
      .Bottom({1, 2}, {0, kLn3})
      .Bottom({1, 2}, {0.5, 0})
      .ExpectTop({}, {0.5 * ln4})
      .ExpectBottomGradient({1}, {-0.375, 0.375});
  // The first position is of class 0, the second of class 1.
  SoftmaxLossCase("loss_param { normalization: BATCH_SIZE }")
      .Bottom({1, 2, 2}, {0, 0, kLn3, kLn3})
      .Bottom({1, 2, 2}, {1, 0, 0, 1})
      .ExpectTop({}, {ln4 + ln43})
      .ExpectBottomGradient({1}, {-0.75, 0.25, 0.75, -0.25});
  SoftmaxLossCase()
      .Bottom({1, 2}, {1000, 0})
      .Bottom({1, 2}, {0, 1})
      .ExpectTop({}, {-std::log(FLT_MIN)});
}

// With smoothing s and K classes, the target of a class is (1 - s) * label + s / K.
TEST_ON_DEVICES(SoftmaxWithLoss, SmoothsSoftLabels) {
  const double ln4 = 2 * kLn2, ln43 = ln4 - kLn3;
  SoftmaxLossCase("loss_param { label_smoothing: 0.2 }")
      .Bottom({1, 2}, {0, kLn3})
      .Bottom({1, 2}, {0.25, 0.75})
      .ExpectTop({}, {0.3 * ln4 + 0.7 * ln43})
      .ExpectBottomGradient({2}, {-0.1, 0.1})
      .ExpectBackendsAgree();
  // One-hot labels give the loss of the classes themselves.
  for (const char* smoothing : {"0", "0.3"}) {
    const std::string more = "loss_param { label_smoothing: " + std::string(smoothing) + " }";
    const double loss = SoftmaxLossCase(more).Bottom({1, 3}, {1, 2, 3}).Bottom({1}, {2}).Top()[0];
    SoftmaxLossCase(more).Bottom({1, 3}, {1, 2, 3}).Bottom({1, 3}, {0, 0, 1}).ExpectTop({}, {loss});
  }
  SoftmaxLossCase("loss_param { label_smoothing: 1 }")
      .RandomBottom({2, 3})
      .RandomBottom({2, 3}, 0, 1)
      .ExpectMistake({"label_smoothing is 1"});
}

TEST_ON_DEVICES(SoftmaxWithLoss, AgreesWithDifferencesForSoftLabels) {
  for (const Shape& shape : {Shape{3, 5, 3, 1}, Shape{1, 7}, Shape{3, 70}}) {
    for (const char* more : {"", "loss_weight: 3 loss_param { normalization: NONE }",
                             "loss_param { label_smoothing: 0.3 }"}) {
      LayerCase c = SoftmaxLossCase(more);
      c.RandomBottom(shape, -2, 2).RandomBottom(shape, 0, 1).AsLoss();
      c.ExpectGradient().ExpectBackendsAgree();
      EXPECT_EQ(c.BottomGradient(1), std::vector<double>()) << "labels do not learn";
      c.ExpectGpuKernel();
    }
    LayerCase both = SoftmaxLossCase("loss_weight: 2 loss_weight: 0");
    both.RandomBottom(shape)
        .RandomBottom(shape, 0, 1)
        .Tops(2)
        .ExpectGradient()
        .ExpectBackendsAgree();
  }
}

TEST(SoftmaxWithLoss, ExplainsWhatDoesNotGoWithSoftLabels) {
  const auto with = [](const std::string& more) {
    LayerCase c = SoftmaxLossCase(more);
    c.RandomBottom({2, 3}).RandomBottom({2, 3}, 0, 1);
    return c;
  };
  with("loss_param { ignore_label: 0 }").ExpectMistake({"soft labels", "remove ignore_label"});
  with("").Tops(3).ExpectMistake({"no third top"});
  // A single class always has the probability 1, so the loss is 0.
  SoftmaxLossCase().RandomBottom({2, 1}).Bottom({2, 1}, {0, 0}).ExpectTop({}, {0});
}

TEST(SoftmaxWithLoss, WarnsOfOneScore) {
  const auto warnings = [](int classes) {
    return LayerWarnings(GraphFromText(
        "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y' input_param {\n"
        "  shape { dim: 4 dim: " +
        std::to_string(classes) +
        " } shape { dim: 4 } } }\n"
        "layer { name: 'l' type: 'SoftmaxWithLoss'\n bottom: 'x' bottom: 'y' top: 'l' }"));
  };
  ASSERT_EQ(warnings(1).size(), 1u);
  EXPECT_EQ(warnings(1)[0].at.ToString(), "net.prototxt:4:2");
  EXPECT_EQ(warnings(1)[0].message,
            "layer 'l': the softmax of one score is always 1, so nothing is learned; use "
            "SigmoidCrossEntropyLoss for 'x', or a score for each class");
  EXPECT_TRUE(warnings(2).empty());
}

TEST(SoftmaxWithLoss, ExplainsMistakes) {
  auto with = [](const std::string& more, const std::vector<double>& labels) {
    LayerCase c = SoftmaxLossCase(more);
    c.RandomBottom({2, 3}).Bottom({static_cast<int64_t>(labels.size())}, labels);
    return c;
  };
  with("", {0}).ExpectMistake(
      {"label 'b1' has 1 values (1)", "the prediction needs 2", "one per sample of 2x3"});
  with("softmax_param { axis: 0 }", {0, 1})
      .ExpectMistake({"needs 3", "sample and position", "axis 0"});
  with("softmax_param { axis: 2 }", {0, 1}).ExpectMistake({"axis 2 does not exist"});
  with("loss_param { label_smoothing: 1 }", {0, 1})
      .ExpectMistake({"label_smoothing is 1", "less than 1"});
  with("loss_param { label_smoothing: -0.1 }", {0, 1})
      .ExpectMistake({"label_smoothing is -0.1", "at least 0"});
  with("loss_param { normalization: PRE_FIXED pre_fixed_normalizer: -1 }", {0, 1})
      .ExpectMistake({"pre_fixed_normalizer is -1"});
  with("", {0, 3}).ExpectMistake({"label 3 at sample 1 is outside 0..2", "ignore_label"});
  with("loss_param { ignore_label: -1 }", {0, -2}).ExpectMistake({"label -2 at sample 1"});
  SoftmaxLossCase().RandomBottom({2, 3}).ExpectMistake({"SoftmaxWithLoss takes", "bottom"});
}

}  // namespace
}  // namespace doppio

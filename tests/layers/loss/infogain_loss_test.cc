#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "proto/net.pb.h"
#include "tests/layers/common/logarithms.h"
#include "tests/layers/loss/wrong_label_case.h"

namespace doppio {
namespace {

const double kLn4 = 2 * kLn2, kLn43 = kLn4 - kLn3;  // ln 4 and ln(4/3)

LayerCase InfogainLossCase(const std::string& more = "") {
  return LayerCase("type: 'InfogainLoss' " + more);
}

// Writes the K x K values of `matrix`, for K classes, to a file. Returns an infogain_loss_param
// that names the file and ends with `more`.
std::string WithFile(const std::vector<float>& matrix, const std::string& more = "") {
  const std::string path = testing::TempDir() + "infogain_" + std::to_string(matrix.size());
  BlobProto blob;
  for (float value : matrix) blob.add_data(value);
  std::ofstream file(path, std::ios::binary);
  EXPECT_TRUE(blob.SerializeToOstream(&file));
  return "infogain_loss_param { source: '" + path + "' " + more + " }";
}

const std::vector<double> kMatrix = {1, 0.5, 2, 3};

// The losses of labels 0 and 1 for class probabilities of 1/4 and 3/4.
const double kLoss0 = kLn4 + 0.5 * kLn43, kLoss1 = 2 * kLn4 + 3 * kLn43;

TEST(InfogainLoss, WeighsEveryClassOfALabel) {
  LayerCase c = InfogainLossCase();
  c.Bottom({2, 2}, {0, kLn3, 0, kLn3}).Bottom({2}, {0, 1}).Bottom({1, 1, 2, 2}, kMatrix);
  c.ExpectTop({}, {(kLoss0 + kLoss1) / 2}).ExpectBottomGradient({2}, {-0.625, 0.625, -0.75, 0.75});
}

TEST_ON_DEVICES(InfogainLoss, ReadsItsMatrixFromAFile) {
  LayerCase c = InfogainLossCase(WithFile({1, 0.5, 2, 3}));
  c.Bottom({2, 2}, {0, kLn3, 0, kLn3}).Bottom({2}, {0, 1});
  c.ExpectTop({}, {(kLoss0 + kLoss1) / 2})
      .ExpectBottomGradient({2}, {-0.625, 0.625, -0.75, 0.75})
      .ExpectBackendsAgree();
}

TEST(InfogainLoss, TakesTheThirdBottomBeforeAFile) {
  InfogainLossCase(WithFile({9, 9, 9, 9}))
      .Bottom({1, 2}, {0, kLn3})
      .Bottom({1}, {1})
      .Bottom({2, 2}, kMatrix)
      .ExpectTop({}, {kLoss1});
}

TEST(InfogainLoss, IsSoftmaxWithLossWhereTheMatrixIsTheIdentity) {
  LayerCase plain("type: 'SoftmaxWithLoss'");
  LayerCase same = InfogainLossCase(WithFile({1, 0, 0, 0, 1, 0, 0, 0, 1}));
  for (LayerCase* c : {&plain, &same})
    c->RandomBottom({4, 3, 2}, -2, 2).LabelBottom({4, 2}, 3).AsLoss();
  EXPECT_NEAR(same.Top()[0], plain.Top()[0], 1e-12);
  const std::vector<double> wanted = plain.BottomGradient(), got = same.BottomGradient();
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-12);
}

TEST_ON_DEVICES(InfogainLoss, IsNormalisedAsTold) {
  auto expect = [](const std::string& param, double loss) {
    LayerCase c = InfogainLossCase("loss_param { ignore_label: 1 " + param + " }");
    c.Bottom({2, 2, 2}, {0, 9, 0, 0, 0, 0, 0, 0}).Bottom({2, 2}, {0, 1, 0, 0});
    c.Bottom({2, 2}, {0.5, 0.5, 7, 7});
    c.ExpectTop({}, {loss}).AsLoss().ExpectGradient().ExpectBackendsAgree();
  };
  expect("", kLn2);
  expect("normalization: VALID", kLn2);
  expect("normalization: FULL", 0.75 * kLn2);
  expect("normalization: BATCH_SIZE", 1.5 * kLn2);
  expect("normalization: NONE", 3 * kLn2);
}

TEST(InfogainLoss, BoundsProbabilities) {
  InfogainLossCase()
      .Bottom({1, 2}, {1000, 0})
      .Bottom({1}, {1})
      .Bottom({2, 2}, {1, 0, 0, 1})
      .ExpectTop({}, {20 * std::log(10.0)}, 1e-4)
      .ExpectBottomGradient({1}, {1, -1});
}

TEST(InfogainLoss, HasItsClassesOnAnyAxis) {
  for (const char* axis : {"axis: 2", "axis: -1"}) {
    InfogainLossCase("infogain_loss_param { " + std::string(axis) + " }")
        .Bottom({1, 2, 2}, {0, kLn3, 0, kLn3})
        .Bottom({1, 2}, {0, 1})
        .Bottom({2, 2}, kMatrix)
        .ExpectTop({}, {(kLoss0 + kLoss1) / 2});
  }
}

TEST_ON_DEVICES(InfogainLoss, ShowsTheProbabilitiesInASecondTop) {
  LayerCase c = InfogainLossCase();
  c.Bottom({1, 2}, {0, kLn3}).Bottom({1}, {0}).Bottom({2, 2}, kMatrix).Tops(2);
  c.ExpectTop({}, {kLoss0}).ExpectTop({1, 2}, {0.25, 0.75}, 1e-5, 1);
  LayerCase both = InfogainLossCase("loss_weight: 2 loss_weight: 0 loss_param { ignore_label: 0 }");
  both.RandomBottom({3, 4, 2}).LabelBottom({3, 2}, 4).RandomBottom({4, 4}).Tops(2);
  both.ExpectGradient().ExpectBackendsAgree();
}

TEST_ON_DEVICES(InfogainLoss, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* more : {"", "loss_weight: 3", "loss_param { ignore_label: 1 }"}) {
    for (const Shape& shape : {Shape{3, 5, 3, 1}, Shape{1, 5}}) {
      LayerCase c = InfogainLossCase(more);
      Shape labels = shape;
      labels[1] = 1;
      c.RandomBottom(shape, -2, 2).LabelBottom(labels, 5).RandomBottom({5, 5}).AsLoss();
      c.ExpectGradient().ExpectBackendsAgree();
      EXPECT_EQ(c.BottomGradient(1), std::vector<double>()) << "labels do not learn";
      EXPECT_EQ(c.BottomGradient(2), std::vector<double>()) << "the matrix does not learn";
    }
  }
}

TEST_ON_DEVICES(InfogainLoss, HasAKernelForGpus) {
  LayerCase c = InfogainLossCase();
  c.RandomBottom({2, 3, 3000}, -5, 5).LabelBottom({2, 3000}, 3).RandomBottom({3, 3}).AsLoss();
  c.ExpectBackendsAgree();
  c.ExpectGpuKernel();
}

TEST_ON_GPU(InfogainLoss, NamesAWrongLabelWhenAGpuHasMetIt) {
  ExpectGpuNamesWrongLabel("type: 'InfogainLoss' " + WithFile({1, 0, 0, 0, 1, 0, 0, 0, 1}), kLn3);
}

TEST(InfogainLoss, ExplainsMistakes) {
  auto with = [](const std::string& more) {
    LayerCase c = InfogainLossCase(more);
    c.RandomBottom({2, 3}).Bottom({2}, {0, 1});
    return c;
  };
  with("").ExpectMistake({"there is no matrix", "source", "third bottom"});
  with(WithFile({1, 2, 3, 4})).ExpectMistake({"holds 4 values", "has 3 classes", "3x3"});
  with("infogain_loss_param { source: '/no/such' }").ExpectMistake({"no file '/no/such'"});
  const std::string text = testing::TempDir() + "infogain_text";
  std::ofstream(text) << "no matrix";
  with("infogain_loss_param { source: '" + text + "' }")
      .ExpectMistake({"infogain_text' is not a matrix", "BlobProto"});
  with("").RandomBottom({2, 2}).ExpectMistake({"matrix 'b2' is 2x2", "3 classes", "3x3"});
  with("loss_param { normalize: true }")
      .RandomBottom({3, 3})
      .ExpectMistake({"does not take normalize", "VALID"});
  with("loss_param { label_smoothing: 0.1 }")
      .RandomBottom({3, 3})
      .ExpectMistake({"InfogainLoss has no label_smoothing"});
  with("loss_param { class_weighting: 1 }")
      .RandomBottom({3, 3})
      .ExpectMistake({"InfogainLoss has no class_weighting"});
  with("infogain_loss_param { axis: 2 }")
      .RandomBottom({3, 3})
      .ExpectMistake({"axis 2 does not exist"});
  with("softmax_param { axis: 0 }")
      .RandomBottom({3, 3})
      .ExpectMistake({"softmax is over axis 0", "infogain_loss_param.axis is 1"});
  InfogainLossCase()
      .RandomBottom({2, 3})
      .Bottom({3}, {0, 1, 2})
      .RandomBottom({3, 3})
      .ExpectMistake({"label 'b1' has 3 values", "needs 2"});
  InfogainLossCase()
      .RandomBottom({2, 3})
      .Bottom({2}, {0, 3})
      .RandomBottom({3, 3})
      .ExpectMistake({"label 3 at sample 1 is outside 0..2"});
}

}  // namespace
}  // namespace doppio

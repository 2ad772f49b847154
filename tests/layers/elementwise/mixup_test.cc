#include <gtest/gtest.h>

#include <cmath>

#include "layers/elementwise/beta_share.h"
#include "tests/layers/loss/wrong_label_case.h"

namespace doppio {
namespace {

LayerCase Mix(const std::string& param) {
  LayerCase c("type: 'Mixup' mixup_param { " + param + " }");
  return c.Tops(2);
}

// The variance of Beta(a, a) is 1 / (4 (2a + 1)).
TEST(BetaShare, HasTheMomentsOfItsDistribution) {
  const Random random(42, Stream("test"));
  const int n = 40000;
  for (const double alpha : {0.2, 1.0, 4.0}) {
    double sum = 0, squares = 0;
    int low = 0;
    for (int i = 0; i < n; ++i) {
      const double share = BetaShare(random, static_cast<uint64_t>(i), alpha);
      ASSERT_GE(share, 0);
      ASSERT_LE(share, 1);
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
      low += share < 0.25;
    }
    EXPECT_NEAR(sum / n, 0.5, 0.01) << alpha;
    EXPECT_NEAR(squares / n, 1 / (4 * (2 * alpha + 1)), 0.007) << alpha;
    // Beta(1, 1) is uniform.
    if (alpha == 1.0) {
      EXPECT_NEAR(low, n / 4, 5 * std::sqrt(n * 3.0 / 16));
    }
  }
}

TEST(BetaShare, IsOfSampleAndSeedAlone) {
  const Random random(1, 2), other(2, 2);
  EXPECT_EQ(BetaShare(random, 7, 0.4), BetaShare(random, 7, 0.4));
  EXPECT_NE(BetaShare(random, 7, 0.4), BetaShare(random, 8, 0.4));
  EXPECT_NE(BetaShare(random, 7, 0.4), BetaShare(other, 7, 0.4));
}

// A small parameter takes nearly all of either sample, a large one half of both.
TEST(BetaShare, TakesSmallAndLargeParameters) {
  const Random random(1, 2);
  for (uint64_t i = 0; i < 100; ++i) {
    const double either = BetaShare(random, i, 1e-4);
    EXPECT_NEAR(std::fabs(either - 0.5), 0.5, 0.1);
    EXPECT_NEAR(BetaShare(random, i, 1e8), 0.5, 1e-3);
  }
}

TEST_ON_DEVICES(Mixup, WritesLabelsAsSharesInTests) {
  Mix("classes: 3")
      .Bottom({3, 2}, {1, 2, 3, 4, 5, 6})
      .Bottom({3, 1, 1, 1}, {2, 0, 1.5})
      .InPhase(TEST)
      .ExpectTop({3, 2}, {1, 2, 3, 4, 5, 6})
      .ExpectTop({3, 3}, {0, 0, 1, 1, 0, 0, 0, 1, 0}, 1e-5, 1)
      .ExpectGradient()
      .ExpectBackendsAgree();
  Mix("classes: 2 alpha: 0")
      .Bottom({2, 1}, {1, 2})
      .Bottom({2}, {1, 0})
      .ExpectTop({2, 1}, {1, 2})
      .ExpectTop({2, 2}, {0, 1, 1, 0}, 1e-5, 1);
}

// With so large an alpha all shares are close to 1/2.
TEST(Mixup, MixesNeighbours) {
  Mix("classes: 3 alpha: 1e9")
      .Bottom({4, 2}, {1, 2, 3, 6, 10, 20, 10, 40})
      .Bottom({4}, {2, 0, 1, 1})
      .ExpectTop({4, 2}, {2, 4, 2, 4, 10, 30, 10, 30}, 1e-2)
      .ExpectTop({4, 3}, {0.5, 0, 0.5, 0.5, 0, 0.5, 0, 1, 0, 0, 1, 0}, 1e-3, 1)
      .ExpectBottomGradient({2, 0, 4, 8, 0, 0, 0, 0}, {3, 4, 3, 4, 0, 0, 0, 0}, 0, 1e-2);
}

TEST(Mixup, MixesDataAndLabelsByTheSameShare) {
  LayerCase c = Mix("classes: 2 alpha: 1");
  c.Bottom({6, 1}, {10, 20, 10, 20, 10, 20}).Bottom({6}, {0, 1, 0, 1, 0, 1});
  const std::vector<double> data = c.Top(), labels = c.Top(1);
  for (size_t row = 0; row < 6; ++row) {
    const double first = labels[2 * row];  // share of class 0, whose value is 10
    EXPECT_NEAR(labels[2 * row + 1], 1 - first, 1e-6);
    EXPECT_NEAR(data[row], 10 * first + 20 * (1 - first), 1e-5);
    if (row % 2 == 1) {
      EXPECT_NEAR(first, 1 - labels[2 * row - 2], 1e-6);  // both rows of a pair use one share
    }
  }
  EXPECT_NE(labels[0], labels[4]);
  EXPECT_NE(labels[4], labels[8]);
}

TEST(Mixup, DependsOnTheSampleAndNotOnTheBatch) {
  const auto labels = [](int64_t samples, int passes) {
    LayerCase c = Mix("classes: 2");
    std::vector<double> classes;
    for (int64_t i = 0; i < samples; ++i) classes.push_back(static_cast<double>(i % 2));
    c.RandomBottom({samples, 3}).Bottom({samples}, classes).Passes(passes);
    return c.Top(1);
  };
  const std::vector<double> whole = labels(4, 1);
  EXPECT_EQ(labels(2, 1), std::vector<double>(whole.begin(), whole.begin() + 4));
  EXPECT_EQ(labels(2, 2), std::vector<double>(whole.begin() + 4, whole.end()));
  EXPECT_NE(labels(2, 1), labels(2, 2));
}

TEST_ON_DEVICES(Mixup, AgreesWithDifferencesAndInEveryLayout) {
  for (const Shape& shape : {Shape{4, 3, 2, 2}, Shape{2, 5}, Shape{2}, Shape{6, 8, 3, 1}}) {
    LayerCase c = Mix("classes: 4");
    c.RandomBottom(shape).LabelBottom({shape[0]}, 4).ExpectGradient().ExpectBackendsAgree();
    EXPECT_EQ(c.BottomGradient(1), std::vector<double>()) << "labels do not learn";
    c.ExpectGpuKernel();
    c.ExpectNarrowOnGpu();
  }
}

TEST_ON_GPU(Mixup, NamesAWrongLabelWhenAGpuHasMetIt) {
  ExpectGpuNamesWrongLabelIn(
      "layer { name: 'mixup' type: 'Mixup' bottom: 'x' bottom: 'label' top: 'mixed' top: 'shares'"
      "  mixup_param { classes: 3 } }"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'mixed' bottom: 'shares' }",
      std::log(3.0));
}

TEST(Mixup, ExplainsMistakes) {
  const auto with = [](const std::string& param, const Shape& data,
                       const std::vector<double>& labels) {
    LayerCase c = Mix(param);
    c.RandomBottom(data).Bottom({static_cast<int64_t>(labels.size())}, labels);
    return c;
  };
  with("", {2, 3}, {0, 1}).ExpectMistake({"the number of classes", "at least 2"});
  with("classes: 2 alpha: -1", {2, 3}, {0, 1}).ExpectMistake({"alpha is -1", "at least 0"});
  with("classes: 2", {3, 2}, {0, 1, 0}).ExpectMistake({"in pairs", "a batch has 3", "even"});
  with("classes: 2", {2, 3}, {0, 1, 1}).ExpectMistake({"label 'b1' has 3 values (3)", "2 samples"});
  with("classes: 2", {2, 3}, {0, 2})
      .ExpectMistake({"label 2 at sample 1 is outside 0..1", "mixup_param.classes"});
}

}  // namespace
}  // namespace doppio

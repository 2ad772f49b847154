#include <gtest/gtest.h>

#include <cmath>
#include <set>

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

// Values of sample n are 1000 n + index, so each value of a top tells where it comes from.
LayerCase Cut(const std::string& param, int64_t samples, int64_t channels = 2) {
  LayerCase c = Mix("classes: 2 " + param);
  std::vector<double> data, labels;
  for (int64_t n = 0; n < samples; ++n) {
    labels.push_back(static_cast<double>(n % 2));
    for (int64_t i = 0; i < channels * 20; ++i) data.push_back(static_cast<double>(1000 * n + i));
  }
  c.Bottom({samples, channels, 4, 5}, data).Bottom({samples}, labels);
  return c;
}

TEST(Mixup, PastesARectangleOfThePartner) {
  const int64_t samples = 200;
  LayerCase c = Cut("alpha: 0 cutmix_alpha: 1", samples);
  const std::vector<double> data = c.Top(), labels = c.Top(1);
  std::set<size_t> areas;
  for (size_t n = 0; n < static_cast<size_t>(samples); ++n) {
    size_t pasted[2] = {0, 0}, top = 4, bottom = 0, left = 5, right = 0;
    for (size_t i = 0; i < 40; ++i) {
      const double own = 1000.0 * static_cast<double>(n) + static_cast<double>(i);
      const double other = 1000.0 * static_cast<double>(n ^ 1) + static_cast<double>(i);
      if (data[40 * n + i] == own) continue;
      ASSERT_EQ(data[40 * n + i], other);
      ++pasted[i / 20];
      top = std::min(top, i % 20 / 5);
      bottom = std::max(bottom, i % 20 / 5 + 1);
      left = std::min(left, i % 5);
      right = std::max(right, i % 5 + 1);
    }
    EXPECT_EQ(pasted[0], pasted[1]);
    if (pasted[0] > 0) {
      EXPECT_EQ(pasted[0], (bottom - top) * (right - left));
    }
    EXPECT_NEAR(labels[2 * n + n % 2], 1 - static_cast<double>(pasted[0]) / 20, 1e-6);
    EXPECT_NEAR(labels[2 * n] + labels[2 * n + 1], 1, 1e-6);
    areas.insert(pasted[0]);
  }
  EXPECT_GT(areas.size(), 6u);
}

TEST(Mixup, ChoosesBetweenBothWaysForEachPair) {
  const auto pastes = [](const std::string& param) {
    const std::vector<double> data = Cut("alpha: 1 cutmix_alpha: 1 " + param, 400, 1).Top();
    int whole = 0;
    for (size_t pair = 0; pair < 200; ++pair) {
      bool mixed = false;
      for (size_t i = 0; i < 20; ++i) {
        const double value = data[40 * pair + i] - 2000.0 * static_cast<double>(pair);
        mixed = mixed || (std::fabs(value - static_cast<double>(i)) > 1e-3 &&
                          std::fabs(value - 1000 - static_cast<double>(i)) > 1e-3);
      }
      whole += !mixed;
    }
    return whole;
  };
  EXPECT_EQ(pastes("switch_prob: 1"), 200);
  EXPECT_EQ(pastes("switch_prob: 0"), 0);
  EXPECT_NEAR(pastes(""), 100, 36);  // five standard deviations
  EXPECT_NEAR(pastes("switch_prob: 0.1"), 20, 22);
}

TEST(Mixup, PastesBySampleAndNotByBatch) {
  const auto shares = [](int64_t samples, int passes) {
    LayerCase c = Mix("classes: 2 cutmix_alpha: 1");
    std::vector<double> classes;
    for (int64_t i = 0; i < samples; ++i) classes.push_back(static_cast<double>(i % 2));
    c.RandomBottom({samples, 1, 9, 9}).Bottom({samples}, classes).Passes(passes);
    return c.Top(1);
  };
  const std::vector<double> whole = shares(4, 1);
  EXPECT_EQ(shares(2, 1), std::vector<double>(whole.begin(), whole.begin() + 4));
  EXPECT_EQ(shares(2, 2), std::vector<double>(whole.begin() + 4, whole.end()));
}

TEST_ON_DEVICES(Mixup, PastesInEveryLayout) {
  for (const Shape& shape : {Shape{4, 3, 5, 6}, Shape{6, 8, 3, 1}, Shape{2, 1, 1, 1}}) {
    for (const char* param : {"alpha: 0 cutmix_alpha: 1", "alpha: 0.5 cutmix_alpha: 2"}) {
      LayerCase c = Mix("classes: 4 " + std::string(param));
      c.RandomBottom(shape).LabelBottom({shape[0]}, 4).ExpectGradient().ExpectBackendsAgree();
      c.ExpectGpuKernel();
      c.ExpectNarrowOnGpu();
    }
  }
}

TEST_ON_DEVICES(Mixup, SmoothsLabelsInTraining) {
  // 0.8 + 0.2 / 4, and 0.2 / 4.
  LayerCase c = Mix("classes: 4 alpha: 0 label_smoothing: 0.2");
  c.Bottom({2, 1}, {1, 2}).Bottom({2}, {1, 3});
  c.ExpectTop({2, 4}, {0.05, 0.85, 0.05, 0.05, 0.05, 0.05, 0.05, 0.85}, 1e-6, 1);
  c.ExpectGradient().ExpectBackendsAgree();
  c.InPhase(TEST).ExpectTop({2, 4}, {0, 1, 0, 0, 0, 0, 0, 1}, 1e-6, 1);
}

TEST_ON_DEVICES(Mixup, MakesLabelsOfSharesAboveAThreshold) {
  // With so large an alpha all shares are close to 1/2, so both classes of a pair count.
  LayerCase c = Mix("classes: 3 alpha: 1e9 label_threshold: 0.2");
  c.Bottom({4, 1}, {1, 2, 3, 4}).Bottom({4}, {2, 0, 1, 1});
  c.ExpectTop({4, 3}, {1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0}, 0, 1).ExpectBackendsAgree();
  Mix("classes: 3 alpha: 1e9 label_threshold: 0.6")
      .Bottom({2, 1}, {1, 2})
      .Bottom({2}, {2, 0})
      .ExpectTop({2, 3}, {0, 0, 0, 0, 0, 0}, 0, 1);
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
  with("classes: 2 cutmix_alpha: inf", {2, 3, 1, 1}, {0, 1})
      .ExpectMistake({"cutmix_alpha is inf", "a finite number of at least 0"});
  with("classes: 2 cutmix_alpha: 1", {2, 3}, {0, 1})
      .ExpectMistake({"CutMix pastes parts of images", "bottom 0 is 2x3", "remove cutmix_alpha"});
  with("classes: 2 alpha: 0 cutmix_alpha: 1", {3, 1, 2, 2}, {0, 1, 0}).ExpectMistake({"in pairs"});
  with("classes: 2 switch_prob: 2", {2, 3}, {0, 1})
      .ExpectMistake({"switch_prob is 2", "from 0 to 1"});
  with("classes: 2 label_smoothing: 1", {2, 3}, {0, 1})
      .ExpectMistake({"label_smoothing is 1", "at least 0 and less than 1"});
  with("classes: 2 label_threshold: -1", {2, 3}, {0, 1}).ExpectMistake({"label_threshold is -1"});
  with("classes: 2 label_threshold: 0.2 label_smoothing: 0.1", {2, 3}, {0, 1})
      .ExpectMistake({"label_threshold and label_smoothing cannot be combined"});
  with("classes: 2", {3, 2}, {0, 1, 0}).ExpectMistake({"in pairs", "a batch has 3", "even"});
  with("classes: 2", {2, 3}, {0, 1, 1}).ExpectMistake({"label 'b1' has 3 values (3)", "2 samples"});
  with("classes: 2", {2, 3}, {0, 2})
      .ExpectMistake({"label 2 at sample 1 is outside 0..1", "mixup_param.classes"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase ContrastiveLossCase(const std::string& param = "") {
  return LayerCase("type: 'ContrastiveLoss' contrastive_loss_param { " + param + " }");
}

// A similar pair at distance 5, then two dissimilar pairs at distances 1 and 5.
LayerCase ThreePairs(const std::string& param) {
  LayerCase c = ContrastiveLossCase(param);
  c.Bottom({3, 2}, {3, 4, 1, 0, 0, 5}).Bottom({3, 2}, {0, 0, 0, 0, 0, 0}).Bottom({3}, {1, 0, 0});
  return c;
}

TEST(ContrastiveLoss, DrawsSimilarPairsTogetherAndOthersApart) {
  const double push = 1 / 1.0001;  // Caffe divides by distance + 1e-4
  ThreePairs("margin: 2")
      .ExpectTop({}, {26 / 6.0})
      .ExpectBottomGradient({3}, {3, 4, -push, 0, 0, 0}, 0)
      .ExpectBottomGradient({3}, {-3, -4, push, 0, 0, 0}, 1);
}

TEST(ContrastiveLoss, HasAMarginOf1) {
  ThreePairs("").ExpectTop({}, {25 / 6.0}).ExpectBottomGradient({3}, {3, 4, 0, 0, 0, 0});
}

TEST_ON_DEVICES(ContrastiveLoss, HasALegacyVersion) {
  ThreePairs("margin: 3 legacy_version: true")
      .ExpectTop({}, {27 / 6.0})
      .ExpectBottomGradient({3}, {3, 4, -1, 0, 0, 0}, 0)
      .ExpectBottomGradient({3}, {-3, -4, 1, 0, 0, 0}, 1)
      .ExpectBackendsAgree();
}

TEST(ContrastiveLoss, CutsSimilaritiesToIntegers) {
  ContrastiveLossCase("margin: 3")
      .Bottom({4, 1}, {1, 1, 1, 1})
      .Bottom({4, 1}, {0, 0, 0, 0})
      .Bottom({4, 1}, {0.9, -0.9, 2, -1})
      .ExpectTop({}, {10 / 8.0});
}

TEST(ContrastiveLoss, StaysFiniteForEqualSamples) {
  ContrastiveLossCase()
      .Bottom({1, 2}, {1, 2})
      .Bottom({1, 2}, {1, 2})
      .Bottom({1}, {0})
      .ExpectTop({}, {0.5})
      .ExpectBottomGradient({1}, {0, 0});
}

TEST_ON_DEVICES(ContrastiveLoss, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* param : {"margin: 3", "margin: 3 legacy_version: true"}) {
    for (const Shape& shape : {Shape{3, 5}, Shape{2, 3, 2, 1}, Shape{1, 2}}) {
      LayerCase c = ContrastiveLossCase(param);
      c.RandomBottom(shape).RandomBottom(shape).LabelBottom({shape[0]}, 2).AsLoss();
      // The tolerance is wide because the 1e-4 in dissimilar pairs' gradients is not in the loss.
      c.ExpectGradient(1e-4, 1e-3).ExpectBackendsAgree();
      EXPECT_EQ(c.BottomGradient(2), std::vector<double>()) << "similarities do not learn";
    }
  }
}

TEST_ON_DEVICES(ContrastiveLoss, HasAKernelForGpus) {
  LayerCase c = ContrastiveLossCase("margin: 3");
  c.RandomBottom({70, 40}).RandomBottom({70, 40}).LabelBottom({70}, 2).AsLoss();
  c.ExpectBackendsAgree();
  c.ExpectGpuKernel();
}

TEST(ContrastiveLoss, ExplainsMistakes) {
  ContrastiveLossCase().RandomBottom({2, 3}).RandomBottom({2, 2}).RandomBottom({2}).ExpectMistake(
      {"second of the pair 'b1' is 2x2", "first 'b0' is 2x3", "same number of values"});
  ContrastiveLossCase().RandomBottom({2, 3}).RandomBottom({2, 3}).RandomBottom({3}).ExpectMistake(
      {"similarity 'b2' has 3 values", "2 are needed, one per sample of 'b0' (2x3)"});
  ContrastiveLossCase().RandomBottom({2, 3}).RandomBottom({2, 3}).ExpectMistake(
      {"takes", "bottom"});
}

}  // namespace
}  // namespace doppio

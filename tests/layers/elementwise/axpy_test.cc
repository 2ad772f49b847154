#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Case(const Shape& factors, const Shape& x, const Shape& y) {
  LayerCase c("type: 'Axpy'");
  c.RandomBottom(factors).RandomBottom(x).RandomBottom(y);
  return c;
}

TEST(Axpy, HasAFactorForEachSampleAndChannel) {
  LayerCase("type: 'Axpy'")
      .Bottom({1, 2}, {2, 3})
      .Bottom({1, 2, 1, 2}, {1, 2, 3, 4})
      .Bottom({1, 2, 1, 2}, {10, 20, 30, 40})
      .ExpectTop({1, 2, 1, 2}, {12, 24, 39, 52})
      .ExpectBottomGradient({1, 2, 3, 4}, {5, 25}, 0)
      .ExpectBottomGradient({1, 2, 3, 4}, {2, 4, 9, 12}, 1)
      .ExpectBottomGradient({1, 2, 3, 4}, {1, 2, 3, 4}, 2);
}

TEST_ON_DEVICES(Axpy, AgreesWithDifferencesAndInEveryLayout) {
  for (const Shape& x : {Shape{3, 5, 2, 1}, Shape{1, 3, 2, 2}, Shape{2, 3}, Shape{2, 3, 4}}) {
    Case({x[0], x[1]}, x, x).ExpectTopShape(x).ExpectGradient().ExpectBackendsAgree();
  }
  Case({3, 5, 1, 1}, {3, 5, 3, 2}, {3, 5, 3, 2}).ExpectGradient().ExpectBackendsAgree();
}

TEST_ON_DEVICES(Axpy, HasAKernelForGpus) {
  // The planes are large enough that a block of threads sums each one.
  LayerCase c = Case({2, 3}, {2, 3, 9, 9}, {2, 3, 9, 9});
  c.ExpectBackendsAgree();
  c.ExpectGpuKernel();
}

TEST(Axpy, ExplainsMistakes) {
  Case({2, 3}, {2, 4, 2, 2}, {2, 4, 2, 2})
      .ExpectMistake({"bottom 0 has shape 2x3", "one factor for each sample and channel", "2x4"});
  Case({2, 4, 2, 2}, {2, 4, 2, 2}, {2, 4, 2, 2}).ExpectMistake({"bottom 0 has shape 2x4x2x2"});
  Case({2, 4}, {2, 4, 2, 2}, {2, 4, 2, 1})
      .ExpectMistake({"bottom 2 has shape 2x4x2x1", "must be the same"});
  Case({2}, {2}, {2}).ExpectMistake({"bottom 1 has shape 2", "at least 2 axes"});
}

}  // namespace
}  // namespace doppio

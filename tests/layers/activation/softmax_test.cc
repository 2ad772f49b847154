#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/common/logarithms.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(Softmax, GivesProbabilities) {
  LayerCase("type: 'Softmax'")
      .Bottom({3, 3}, {0, kLn2, kLn3, 1000, 1000 + kLn2, 1000 + kLn3, -1000, 0, 1000})
      .ExpectTop({3, 3}, {1.0 / 6, 1.0 / 3, 0.5, 1.0 / 6, 1.0 / 3, 0.5, 0, 0, 1})
      // The gradient is y * (dy - sum of y * dy), where the sum is 7 / 3.
      .ExpectBottomGradient({1, 2, 3, 0, 0, 0, 0, 0, 0},
                            {-2.0 / 9, -1.0 / 9, 1.0 / 3, 0, 0, 0, 0, 0, 0});
}

TEST(Softmax, WorksAlongAnAxis) {
  LayerCase("type: 'Softmax'")
      .Bottom({1, 2, 2}, {0, kLn3, 0, 0})
      .ExpectTop({1, 2, 2}, {0.5, 0.75, 0.5, 0.25});
  for (const char* axis : {"axis: 0", "axis: -2"}) {
    LayerCase("type: 'Softmax' softmax_param { " + std::string(axis) + " }")
        .Bottom({2, 2}, {0, kLn3, 0, 0})
        .ExpectTop({2, 2}, {0.5, 0.75, 0.5, 0.25});
  }
}

TEST_ON_DEVICES(Softmax, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* axis : {"axis: 0", "axis: 1", "axis: -1"}) {
    const std::string layer = "type: 'Softmax' softmax_param { " + std::string(axis) + " }";
    for (const Shape& shape : {Shape{3, 5, 2, 1}, Shape{1, 3}}) {
      LayerCase c(layer);
      c.RandomBottom(shape, -3, 3).ExpectTopShape(shape).ExpectGradient().ExpectBackendsAgree();
      c.InPlace().ExpectGradient().ExpectBackendsAgree();
    }
    // The shape has more positions than the kernel processes at once.
    LayerCase(layer).RandomBottom({3, 3, 5, 14}, -30, 30).ExpectBackendsAgree();
  }
}

TEST_ON_DEVICES(Softmax, HasAKernelForGpus) {
  LayerCase c("type: 'Softmax'");
  c.RandomBottom({1, 2});
  c.ExpectGpuKernel();
  c.ExpectNarrowOnGpu();
  LayerCase image("type: 'Softmax'");
  image.RandomBottom({3, 5, 2, 1});
  image.ExpectNoGpuConversions();
  // The shapes have more classes than one GPU thread should sum, with one, few and many positions.
  for (const Shape& shape : {Shape{3, 70}, Shape{2, 70, 3}, Shape{1, 70, 40}}) {
    LayerCase("type: 'Softmax'").RandomBottom(shape, -5, 5).ExpectBackendsAgree();
  }
}

TEST(Softmax, NeedsItsAxis) {
  LayerCase("type: 'Softmax' softmax_param { axis: 2 }")
      .RandomBottom({1, 2})
      .ExpectMistake({"axis 2 does not exist", "1x2"});
}

}  // namespace
}  // namespace doppio

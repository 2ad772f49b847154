#include <gtest/gtest.h>

#include <cmath>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(MVN, NormalisesEachChannelOfEachSample) {
  LayerCase("type: 'MVN'")
      .Bottom({2, 2, 1, 2}, {1, 3, 0, 4, -5, 5, 7, 9})
      .ExpectTop({2, 2, 1, 2}, {-1, 1, -1, 1, -1, 1, -1, 1});
  LayerCase("type: 'MVN' mvn_param { normalize_variance: false }")
      .Bottom({1, 2, 1, 2}, {1, 3, 0, 4})
      .ExpectTop({1, 2, 1, 2}, {-1, 1, -2, 2});
}

TEST(MVN, NormalisesSamplesAcrossChannels) {
  const double s = 1 / std::sqrt(5.0);
  LayerCase("type: 'MVN' mvn_param { across_channels: true }")
      .Bottom({1, 2, 1, 2}, {1, 3, 5, 7})
      .ExpectTop({1, 2, 1, 2}, {-3 * s, -s, s, 3 * s});
  LayerCase("type: 'MVN' mvn_param { across_channels: true normalize_variance: false }")
      .Bottom({1, 2, 1, 2}, {1, 3, 5, 7})
      .ExpectTop({1, 2, 1, 2}, {-3, -1, 1, 3});
}

// Caffe's gradient treats eps as a part of the deviation s:
// (dy - mean(dy) - y mean(y dy)) / (s + eps).
TEST_ON_DEVICES(MVN, AddsEpsToTheDeviation) {
  LayerCase("type: 'MVN' mvn_param { eps: 0.25 }")
      .Bottom({1, 1, 1, 2}, {1, 3})
      .ExpectTop({1, 1, 1, 2}, {-0.8, 0.8})
      .ExpectBottomGradient({1, 0}, {0.144, -0.144})
      .ExpectBackendsAgree();
}

TEST(MVN, MakesZerosOfEqualValues) {
  LayerCase("type: 'MVN'").Bottom({1, 1, 1, 3}, {2, 2, 2}).ExpectTop({1, 1, 1, 3}, {0, 0, 0});
  LayerCase("type: 'MVN'").Bottom({2, 2}, {1, 2, 3, 4}).ExpectTop({2, 2}, {0, 0, 0, 0});
}

TEST_ON_DEVICES(MVN, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* param : {"", "across_channels: true", "normalize_variance: false",
                            "across_channels: true normalize_variance: false"}) {
    for (const Shape& shape : {Shape{3, 5, 2, 3}, Shape{1, 3, 4}}) {
      LayerCase c("type: 'MVN' mvn_param { " + std::string(param) + " }");
      c.RandomBottom(shape).ExpectTopShape(shape).ExpectGradient().ExpectBackendsAgree();
      c.InPlace().ExpectGradient().ExpectBackendsAgree();
    }
  }
}

TEST_ON_DEVICES(MVN, HasAKernelForGpus) {
  // A single block of threads sums each row of the first shape, several blocks that of the second.
  for (const Shape& shape : {Shape{2, 3, 9, 9}, Shape{1, 1, 130, 130}}) {
    LayerCase c("type: 'MVN'");
    c.RandomBottom(shape, 3, 5).ExpectBackendsAgree();
    c.ExpectGpuKernel();
  }
}

TEST(MVN, RefusesANegativeEps) {
  LayerCase("type: 'MVN' mvn_param { eps: -1 }")
      .RandomBottom({1, 2, 2, 2})
      .ExpectMistake({"eps is -1", "at least 0"});
}

}  // namespace
}  // namespace doppio

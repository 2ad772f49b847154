// Tests of LayerNorm, GroupNorm and InstanceNorm.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/threads.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(LayerNorm, NormalisesTheAxesFromAxisOn) {
  LayerCase("type: 'LayerNorm' layer_norm_param { eps: 0 }")
      .Bottom({2, 1, 2}, {1, 3, 10, 4})
      .KeepFilledParams()
      .ExpectParam(0, {1, 1})
      .ExpectParam(1, {0, 0})
      .ExpectTop({2, 1, 2}, {-1, 1, 1, -1});
  const double s = 1 / std::sqrt(5.0);
  LayerCase("type: 'LayerNorm' layer_norm_param { eps: 0 axis: 1 }")
      .Bottom({1, 2, 2}, {1, 3, 5, 7})
      .Param(0, {1, 2, 1, 1})
      .Param(1, {0, 0, 10, 0})
      .ExpectTop({1, 2, 2}, {-3 * s, -2 * s, s + 10, 3 * s});
}

TEST(LayerNorm, AddsEpsToTheVariance) {
  // The variance of 1 and 3 is 1, so the deviation becomes 2.
  LayerCase("type: 'LayerNorm' layer_norm_param { eps: 3 scale_term: false bias_term: false }")
      .Bottom({1, 2}, {1, 3})
      .ExpectTop({1, 2}, {-0.5, 0.5})
      // (dy - mean(dy) - y mean(y dy)) / 2 with mean(y dy) = -1/4.
      .ExpectBottomGradient({1, 0}, {0.1875, -0.1875});
}

TEST(GroupNorm, NormalisesGroupsOfChannels) {
  LayerCase("type: 'GroupNorm' group_norm_param { groups: 2 eps: 0 }")
      .Bottom({2, 4, 1, 1}, {1, 3, 0, 4, 7, 5, 9, 9.5})
      .Param(0, {1, 2, 1, 10})
      .Param(1, {0, 0, 5, 0})
      .ExpectTop({2, 4, 1, 1}, {-1, 2, 4, 10, 1, -2, 4, 10});
  const double s = 1 / std::sqrt(5.0);
  LayerCase("type: 'GroupNorm' group_norm_param { groups: 1 eps: 0 bias_term: false }")
      .Bottom({1, 2, 2}, {1, 3, 5, 7})
      .Param(0, {2, 1})
      .ExpectTop({1, 2, 2}, {-6 * s, -2 * s, s, 3 * s});
}

TEST(InstanceNorm, NormalisesEachChannelOfEachSample) {
  LayerCase("type: 'InstanceNorm' instance_norm_param { eps: 0 scale_term: false }")
      .Bottom({2, 2, 1, 2}, {1, 3, 0, 4, -5, 5, 9, 7})
      .Param(0, {0, 10})
      .ExpectTop({2, 2, 1, 2}, {-1, 1, 9, 11, -1, 1, 11, 9});
  // A channel of one value has no deviation.
  LayerCase("type: 'InstanceNorm'")
      .Bottom({1, 2}, {3, 4})
      .Param(0, {1, 1})
      .Param(1, {5, 6})
      .ExpectTop({1, 2}, {5, 6});
}

// Each case has its message and shapes of bottoms.
struct NormCase {
  const char* type;
  const char* message;
  std::vector<Shape> shapes;
};

TEST_ON_DEVICES(GroupNorm, AgreesWithDifferencesAndInEveryPlan) {
  const std::vector<NormCase> cases = {
      {"LayerNorm", "layer_norm_param { eps: 0.1 ", {{3, 5, 4}, {2, 37}, {1, 3}}},
      {"LayerNorm", "layer_norm_param { eps: 0.1 axis: 1 ", {{3, 2, 3, 5}, {1, 17}}},
      {"GroupNorm", "group_norm_param { eps: 0.1 groups: 3 ", {{3, 6, 2, 3}, {2, 9}, {1, 3, 17}}},
      {"GroupNorm", "group_norm_param { eps: 0.1 groups: 1 ", {{2, 5, 3, 3}, {2, 5}}},
      {"InstanceNorm", "instance_norm_param { eps: 0.1 ", {{3, 5, 2, 3}, {1, 4, 4}}}};
  for (const NormCase& one : cases) {
    for (const char* learned : {"}", "scale_term: false }", "bias_term: false }",
                                "scale_term: false bias_term: false }"}) {
      for (const Shape& shape : one.shapes) {
        const std::string text = std::string("type: '") + one.type + "' " + one.message + learned;
        LayerCase c(text);
        c.RandomBottom(shape).ExpectTopShape(shape).NarrowTolerance(8);
        c.ExpectGradient().ExpectBackendsAgree();
        c.InPlace().ExpectGradient().ExpectBackendsAgree();
      }
    }
  }
}

TEST_ON_DEVICES(GroupNorm, HasANarrowKernelForGpus) {
  // One block of threads sums each row of the first shapes, several blocks that of the last ones.
  for (const char* text :
       {"type: 'LayerNorm' layer_norm_param { axis: 1 }", "type: 'LayerNorm'",
        "type: 'GroupNorm' group_norm_param { groups: 2 }", "type: 'InstanceNorm'"}) {
    for (const Shape& shape : {Shape{2, 4, 9, 9}, Shape{1, 2, 130, 130}, Shape{70, 2, 1, 40}}) {
      LayerCase c(text);
      c.RandomBottom(shape, 3, 5).NarrowTolerance(8).ExpectBackendsAgree(1e-4);
      c.ExpectGpuKernel().ExpectNarrowOnGpu();
    }
  }
}

std::vector<double> Repeated(const std::vector<double>& values, int times) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), values.begin(), values.end());
  return all;
}

// The same sample has the same bits in any batch and for any number of threads.
TEST(GroupNorm, DependsNeitherOnTheBatchNorOnThreads) {
  std::vector<double> sample;
  for (int i = 0; i < 6 * 67; ++i) sample.push_back(std::sin(i * 0.7) + 3);
  for (const char* text :
       {"type: 'LayerNorm'", "type: 'LayerNorm' layer_norm_param { axis: 1 }",
        "type: 'GroupNorm' group_norm_param { groups: 2 }", "type: 'InstanceNorm'"}) {
    const ThreadCount one(1);
    const std::vector<double> alone = LayerCase(text).Bottom({1, 6, 67}, sample).FastTop();
    const ThreadCount three(3);
    const std::vector<double> batch =
        LayerCase(text).Bottom({5, 6, 67}, Repeated(sample, 5)).FastTop();
    EXPECT_EQ(batch, Repeated(alone, 5)) << text;
  }
}

TEST(GroupNorm, ExplainsMistakes) {
  LayerCase("type: 'GroupNorm'")
      .RandomBottom({2, 6, 2, 2})
      .ExpectMistake({"groups is 32", "6 channels", "divisor of 6"});
  LayerCase("type: 'GroupNorm' group_norm_param { groups: 0 }")
      .RandomBottom({2, 6})
      .ExpectMistake({"groups is 0"});
  LayerCase("type: 'InstanceNorm'").RandomBottom({3}).ExpectMistake({"at least 2 axes"});
  LayerCase("type: 'LayerNorm' layer_norm_param { axis: 2 }")
      .RandomBottom({3, 4})
      .ExpectMistake({"axis 2 does not exist", "3x4"});
  LayerCase("type: 'LayerNorm' layer_norm_param { eps: -1 }")
      .RandomBottom({3, 4})
      .ExpectMistake({"eps is -1", "at least 0"});
}

}  // namespace
}  // namespace doppio

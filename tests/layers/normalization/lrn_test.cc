#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(LRN, DividesBySumsOverChannels) {
  // alpha / local_size is 1, so the scales are k plus the sums of squares 5, 14 and 13.
  LayerCase("type: 'LRN' lrn_param { local_size: 3 alpha: 3 beta: 1 }")
      .Bottom({1, 3, 1, 1}, {1, 2, 3})
      .ExpectTop({1, 3, 1, 1}, {1.0 / 6, 2.0 / 15, 3.0 / 14});
  LayerCase("type: 'LRN' lrn_param { local_size: 3 alpha: 3 beta: 1 k: 2 }")
      .Bottom({1, 3, 1, 1}, {1, 2, 3})
      .ExpectTop({1, 3, 1, 1}, {1.0 / 7, 2.0 / 16, 3.0 / 15});
  // By default local_size is 5, alpha 1 and beta 0.75. The scale is 1 + 75 / 5 = 16.
  LayerCase("type: 'LRN'")
      .Bottom({1, 3, 1, 1}, {5, 5, 5})
      .ExpectTop({1, 3, 1, 1}, {0.625, 0.625, 0.625});
}

TEST(LRN, IgnoresKWithinAChannel) {
  LayerCase(
      "type: 'LRN' lrn_param { norm_region: WITHIN_CHANNEL local_size: 3 alpha: 9 beta: 1 k: 5 }")
      .Bottom({1, 1, 2, 2}, {1, 2, 3, 4})
      .ExpectTop({1, 1, 2, 2}, {1.0 / 31, 2.0 / 31, 3.0 / 31, 4.0 / 31});
  LayerCase("type: 'LRN' lrn_param { norm_region: WITHIN_CHANNEL local_size: 3 alpha: 9 beta: 1 }")
      .Bottom({1, 1, 1, 3}, {1, 2, 3})
      .ExpectTop({1, 1, 1, 3}, {1.0 / 6, 2.0 / 15, 3.0 / 14});
}

TEST_ON_DEVICES(LRN, AgreesWithDifferencesAndInEveryLayout) {
  const std::string across[] = {"", "local_size: 3 alpha: 2 beta: 0.5 k: 1.5",
                                "local_size: 1 alpha: 4", "local_size: 9"};
  for (const std::string& param : across) {
    LayerCase("type: 'LRN' lrn_param { " + param + " }")
        .RandomBottom({3, 5, 2, 1})
        .ExpectGradient()
        .ExpectBackendsAgree();
    LayerCase("type: 'LRN' lrn_param { norm_region: WITHIN_CHANNEL " + param + " }")
        .RandomBottom({1, 2, 3, 5})
        .ExpectGradient()
        .ExpectBackendsAgree();
  }
  for (const char* region : {"ACROSS_CHANNELS", "WITHIN_CHANNEL"}) {
    for (const char* size : {"local_size: 3", "local_size: 5"}) {
      for (const Shape& shape : {Shape{3, 16, 3, 2}, Shape{1, 32, 2, 5}, Shape{1, 19, 6, 3},
                                 Shape{3, 8, 5, 5}, Shape{1, 1, 9, 7}}) {
        LayerCase("type: 'LRN' lrn_param { norm_region: " + std::string(region) + " alpha: 0.5 " +
                  size + " }")
            .RandomBottom(shape, -3, 3)
            .ExpectTopShape(shape)
            .ExpectBackendsAgree();
      }
    }
  }
}

TEST_ON_GPU(LRN, HasAKernel) {
  LayerCase c("type: 'LRN'");
  c.RandomBottom({1, 2, 1, 1});
  c.ExpectGpuKernel();
  c.ExpectNarrowOnGpu();
  c.ExpectNoGpuConversions();
}

// The windows lie within the pack of channels that a GPU thread works on, reach into the adjacent
// packs, or reach beyond them.
TEST_ON_DEVICES(LRN, TakesWindowsOfAnySize) {
  for (int size : {1, 3, 5, 7, 9, 11, 17, 19, 31}) {
    LayerCase("type: 'LRN' lrn_param { alpha: 0.5 local_size: " + std::to_string(size) + " }")
        .RandomBottom({1, 24, 2, 3}, -3, 3)
        .ExpectBackendsAgree();
  }
}

TEST(LRN, ExplainsMistakes) {
  LayerCase("type: 'LRN' lrn_param { local_size: 4 }")
      .RandomBottom({1, 2, 1, 1})
      .ExpectMistake({"local_size must be odd, found 4"});
  LayerCase("type: 'LRN' lrn_param { local_size: 0 }")
      .RandomBottom({1, 2, 1, 1})
      .ExpectMistake({"found 0"});
  LayerCase("type: 'LRN'").RandomBottom({1, 2, 3}).ExpectMistake({"4 axes", "found 1x2x3"});
}

}  // namespace
}  // namespace doppio

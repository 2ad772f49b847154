#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(Concat, JoinsChannelsByDefault) {
  LayerCase("type: 'Concat'")
      .Bottom({3, 1}, {1, 2, 3})
      .Bottom({3, 2}, {10, 11, 20, 21, 30, 31})
      .ExpectTop({3, 3}, {1, 10, 11, 2, 20, 21, 3, 30, 31})
      .ExpectBottomGradient({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 4, 7}, 0)
      .ExpectBottomGradient({1, 2, 3, 4, 5, 6, 7, 8, 9}, {2, 3, 5, 6, 8, 9}, 1);
}

TEST(Concat, JoinsAlongAnyAxis) {
  for (const char* axis : {"axis: 0", "axis: -2", "concat_dim: 0"}) {
    LayerCase("type: 'Concat' concat_param { " + std::string(axis) + " }")
        .Bottom({1, 2}, {1, 2})
        .Bottom({2, 2}, {3, 4, 5, 6})
        .Bottom({1, 2}, {7, 8})
        .ExpectTop({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  }
  LayerCase("type: 'Concat' concat_param { axis: -1 }")
      .Bottom({1, 2, 1}, {1, 2})
      .Bottom({1, 2, 2}, {3, 4, 5, 6})
      .ExpectTop({1, 2, 3}, {1, 3, 4, 2, 5, 6});
}

TEST_ON_DEVICES(Concat, OfOneBottomIsThatBottom) {
  LayerCase c("type: 'Concat'");
  c.Bottom({1, 3}, {1, 2, 3}).ExpectTop({1, 3}, {1, 2, 3}).ExpectGradient().ExpectBackendsAgree();
  EXPECT_EQ(c.Engine(), "view");
}

// The channels of the bottoms fill blocks of 8 and 16, only blocks of 8, neither, or, in the last
// two cases, those of the first or last bottom only.
TEST_ON_DEVICES(Concat, AgreesWithDifferencesAndInEveryLayout) {
  const std::vector<std::vector<int64_t>> channels = {
      {16, 32, 16}, {8, 16, 8}, {3, 5, 1}, {16, 3}, {3, 16}};
  for (const std::vector<int64_t>& parts : channels) {
    LayerCase c("type: 'Concat'");
    for (int64_t part : parts) c.RandomBottom({3, part, 2, 1});
    c.ExpectBackendsAgree();
    EXPECT_EQ(c.Engine(), "onednn");
    c.ExpectNarrowOnGpu();
    c.ExpectNoGpuConversions();
    c.ExpectGpuKernel();
  }
  LayerCase("type: 'Concat'")
      .RandomBottom({3, 2, 2, 1})
      .RandomBottom({3, 1, 2, 1})
      .ExpectGradient();
  for (const char* axis : {"axis: 0", "axis: 2", "axis: 3"}) {
    for (int64_t channels_of_all : {3, 16, 19}) {
      LayerCase c("type: 'Concat' concat_param { " + std::string(axis) + " }");
      for (int i = 0; i < 2; ++i) c.RandomBottom({1, channels_of_all, 3, 2});
      c.ExpectBackendsAgree();
    }
  }
  LayerCase("type: 'Concat' concat_param { axis: 2 }")
      .RandomBottom({1, 2, 1, 3})
      .RandomBottom({1, 2, 2, 3})
      .ExpectTopShape({1, 2, 3, 3})
      .ExpectGradient();
  LayerCase("type: 'Concat'").RandomBottom({1, 8, 3}).RandomBottom({1, 9, 3}).ExpectBackendsAgree();
  LayerCase("type: 'Concat'")
      .RandomBottom({3, 8, 2, 1, 2})
      .RandomBottom({3, 8, 2, 1, 2})
      .ExpectBackendsAgree();
}

TEST_ON_DEVICES(Concat, LeavesOutBottomsThatDoNotLearn) {
  LayerCase("type: 'Concat' propagate_down: false propagate_down: true")
      .RandomBottom({3, 2})
      .RandomBottom({3, 1})
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST(Concat, ExplainsMistakes) {
  LayerCase("type: 'Concat'")
      .Bottom({1, 2}, {1, 2})
      .Bottom({2, 1}, {1, 2})
      .ExpectMistake({"bottom 'b1' is 2x1, bottom 'b0' is 1x2", "only along axis 1"});
  LayerCase("type: 'Concat'")
      .Bottom({1, 2}, {1, 2})
      .Bottom({1}, {1})
      .ExpectMistake({"bottom 'b1' is 1,"});
  LayerCase("type: 'Concat' concat_param { axis: 2 }")
      .Bottom({1, 2}, {1, 2})
      .ExpectMistake({"axis 2 does not exist", "1x2"});
  LayerCase("type: 'Concat' concat_param { axis: -3 }")
      .Bottom({1, 2}, {1, 2})
      .ExpectMistake({"axis -3"});
  LayerCase("type: 'Concat' concat_param { concat_dim: 7 }")
      .Bottom({1, 2}, {1, 2})
      .ExpectMistake({"concat_dim 7"});
  LayerCase("type: 'Concat' concat_param { axis: 1 concat_dim: 1 }")
      .Bottom({1, 2}, {1, 2})
      .ExpectMistake({"two names of the same field"});
}

}  // namespace
}  // namespace doppio

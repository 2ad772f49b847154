#include <gtest/gtest.h>

#include <algorithm>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Draw(const std::string& param) {
  return LayerCase("type: 'Pooling' pooling_param { pool: STOCHASTIC " + param + " }");
}

TEST(StochasticPooling, NeverDrawsAnElementWithoutShare) {
  Draw("kernel_size: 2 stride: 2")
      .Bottom({1, 1, 2, 4}, {0, 0, 0, 0, 0, 3, 4, 0})
      .ExpectTop({1, 1, 1, 2}, {3, 4})
      .ExpectBottomGradient({1, 2}, {0, 0, 0, 0, 0, 1, 2, 0});
}

TEST(StochasticPooling, DrawsElementsByTheirShares) {
  std::vector<double> bottom;
  for (int i = 0; i < 4000; ++i) bottom.insert(bottom.end(), {1, 3});
  LayerCase c = Draw("kernel_h: 1 kernel_w: 2 stride_w: 2");
  c.Bottom({4, 10, 100, 2}, bottom);
  const std::vector<double> top = c.Top();
  ASSERT_EQ(top.size(), 4000u);
  const int64_t large = std::count(top.begin(), top.end(), 3.0);
  EXPECT_EQ(std::count(top.begin(), top.end(), 1.0), 4000 - large);
  EXPECT_NEAR(static_cast<double>(large), 3000, 4 * 27.4);  // 4 standard deviations of 27.4
}

TEST(StochasticPooling, DrawsDifferentlyInEachPass) {
  std::vector<double> bottom(200);
  for (int i = 0; i < 200; ++i) bottom[static_cast<size_t>(i)] = 1 + i;
  auto top = [&](int passes) {
    LayerCase c = Draw("kernel_size: 2 stride: 2");
    return c.Bottom({1, 2, 10, 10}, bottom).Passes(passes).Top();
  };
  EXPECT_EQ(top(1), top(1));
  EXPECT_NE(top(1), top(2));
}

TEST_ON_DEVICES(StochasticPooling, DrawsTheSameOnEveryDevice) {
  for (const char* param :
       {"kernel_size: 2 stride: 2", "kernel_size: 3 stride: 2", "kernel_h: 2 kernel_w: 3",
        "global_pooling: true", "kernel_size: 2 stride: 3 round_mode: FLOOR"}) {
    for (const Shape& shape : {Shape{3, 2, 5, 6}, Shape{1, 16, 7, 5}}) {
      LayerCase c = Draw(param);
      c.RandomBottom(shape, 0.1, 1).ExpectBackendsAgree();
      c.ExpectGpuKernel();
    }
  }
}

TEST_ON_DEVICES(StochasticPooling, WeighsElementsByTheirSharesInTesting) {
  LayerCase c = Draw("kernel_size: 2 stride: 2");
  c.InPhase(TEST)
      .Bottom({1, 1, 2, 4}, {1, 2, 0, 0, 3, 0, 0, 0})
      .ExpectTop({1, 1, 1, 2}, {14.0 / 6, 0});
  Draw("kernel_size: 3 stride: 2")
      .InPhase(TEST)
      .RandomBottom({3, 2, 4, 5}, 0.1, 1)
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST(StochasticPooling, ExplainsMistakes) {
  for (const char* pad : {"pad: 1", "pad_h: 1", "pad_w: 1"}) {
    Draw("kernel_size: 2 " + std::string(pad))
        .RandomBottom({1, 1, 3, 3})
        .ExpectMistake({"STOCHASTIC pooling has no padding"});
  }
  Draw("kernel_size: 2")
      .RandomBottom({1, 1, 3, 3})
      .Tops(2)
      .ExpectMistake({"only MAX pooling has a second top"});
}

}  // namespace
}  // namespace doppio

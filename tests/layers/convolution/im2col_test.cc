#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Unfolded(const std::string& param) {
  return LayerCase("type: 'Im2col' convolution_param { " + param + " }");
}

TEST(Im2col, MakesAChannelOfEachPositionInTheWindow) {
  Unfolded("kernel_size: 2")
      .Bottom({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})
      .ExpectTop({1, 4, 1, 2}, {1, 2, 2, 3, 4, 5, 5, 6})
      .ExpectBottomGradient({1, 2, 3, 4, 5, 6, 7, 8}, {1, 5, 4, 5, 13, 8});
}

TEST(Im2col, KnowsPaddingStrideAndDilation) {
  Unfolded("kernel_h: 1 kernel_w: 2 pad_h: 0 pad_w: 1 stride: 2 dilation: 2")
      .Bottom({1, 1, 1, 4}, {1, 2, 3, 4})
      .ExpectTop({1, 2, 1, 2}, {0, 2, 2, 4});
}

TEST(Im2col, NeedsNoOutputsAndNoGroups) {
  Unfolded("kernel_size: 1 num_output: 7 group: 2")
      .RandomBottom({1, 3, 2, 2})
      .ExpectTopShape({1, 3, 2, 2});
}

TEST_ON_DEVICES(Im2col, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* param :
       {"kernel_size: 3", "kernel_h: 2 kernel_w: 3 pad: 1 stride: 2 dilation: 2"}) {
    LayerCase c = Unfolded(param);
    c.RandomBottom({3, 2, 5, 6}).ExpectGradient().ExpectBackendsAgree();
    c.ExpectGpuKernel();
  }
  Unfolded("kernel_size: 2").RandomBottom({3, 2, 5}).ExpectGradient().ExpectBackendsAgree();
  Unfolded("kernel_size: 2").RandomBottom({1, 2, 3, 3, 3}).ExpectGradient().ExpectBackendsAgree();
  Unfolded("kernel_size: 2 axis: -3")
      .RandomBottom({2, 1, 2, 3, 3})
      .ExpectTopShape({2, 1, 8, 2, 2})
      .ExpectBackendsAgree();
}

TEST(Im2col, ExplainsMistakes) {
  Unfolded("").RandomBottom({1, 1, 2, 2}).ExpectMistake({"kernel_size is missing"});
  Unfolded("kernel_size: 3")
      .RandomBottom({1, 1, 2, 2})
      .ExpectMistake({"larger than the padded input 2x2"});
}

}  // namespace
}  // namespace doppio

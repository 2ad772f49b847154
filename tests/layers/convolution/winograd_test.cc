// Convolutions by Winograd's minimal filtering, where oneDNN has it (2.6 with AVX-512).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// A convolution of two images whose values are drawn at random.
LayerCase Convolution(int64_t channels, int64_t outputs, int64_t height, int64_t width,
                      const std::string& param = "kernel_size: 3 pad: 1") {
  LayerCase c("type: 'Convolution' convolution_param { num_output: " + std::to_string(outputs) +
              " " + param + " weight_filler { type: 'msra' } }");
  c.KeepFilledParams().RandomBottom({2, channels, height, width});
  return c;
}

// Returns the largest difference of the fast kernel's top to the reference's, relative to the
// largest value.
double ErrorWith(Winograd winograd, LayerCase c) {
  const std::vector<double> want = c.Top(), got = c.Use(winograd).FastTop();
  double difference = 0, largest = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    difference = std::max(difference, std::fabs(got[i] - want[i]));
    largest = std::max(largest, std::fabs(want[i]));
  }
  return difference / largest;
}

TEST(Winograd, AgreesWithTheReference) {
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{8, 8}, {7, 5}, {13, 18}, {3, 1}})
    Convolution(16, 32, height, width).Use(Winograd::kOn).ExpectBackendsAgree();
}

TEST(Winograd, TakesOtherPaddingsAndChannels) {
  for (const char* pad : {"pad: 0", "pad: 2", "pad_h: 1 pad_w: 0"})
    Convolution(32, 16, 9, 10, std::string("kernel_size: 3 ") + pad)
        .Use(Winograd::kOn)
        .ExpectBackendsAgree();
  Convolution(3, 20, 9, 9).Use(Winograd::kOn).ExpectBackendsAgree();
}

TEST(Winograd, RoundsLittleMoreThanDirectConvolution) {
  const LayerCase c = Convolution(256, 64, 16, 16);
  EXPECT_LT(ErrorWith(Winograd::kOff, c), 2e-6);
  EXPECT_LT(ErrorWith(Winograd::kOn, c), 1e-5);
}

TEST(Winograd, IsUsedWhereItPays) {
  // An image has 4x4 or 4x3 tiles.
  LayerCase large = Convolution(32, 32, 16, 16), small = Convolution(32, 32, 16, 12);
  const auto top = [](LayerCase c, Winograd winograd) { return c.Use(winograd).FastTop(); };
  EXPECT_EQ(top(large, Winograd::kAuto), top(large, Winograd::kOn));
  EXPECT_EQ(top(small, Winograd::kAuto), top(small, Winograd::kOff));
}

TEST(Winograd, LeavesOtherConvolutionsAsTheyAre) {
  for (const char* param : {"kernel_size: 3 stride: 2", "kernel_size: 5 pad: 2",
                            "kernel_size: 3 dilation: 2", "kernel_size: 3 group: 2"}) {
    LayerCase c = Convolution(32, 32, 16, 16, param);
    const std::vector<double> off = c.Use(Winograd::kOff).FastTop();
    EXPECT_EQ(c.Use(Winograd::kOn).FastTop(), off) << param;
  }
}

}  // namespace
}  // namespace doppio

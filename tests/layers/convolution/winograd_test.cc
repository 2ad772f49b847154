// Convolutions by Winograd's minimal filtering: our own, and oneDNN's where it has it (2.6 with
// AVX-512).
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "core/math/dnnl_isa.h"
#include "layers/convolution/winograd_rule.h"
#include "tests/layers/common/same_vectors.h"
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
double ErrorWith(const char* winograd, LayerCase c) {
  const std::vector<double> want = c.Top(), got = c.Use("winograd", winograd).FastTop();
  double difference = 0, largest = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    difference = std::max(difference, std::fabs(got[i] - want[i]));
    largest = std::max(largest, std::fabs(want[i]));
  }
  return difference / largest;
}

TEST(Winograd, AgreesWithTheReference) {
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{8, 8}, {7, 5}, {13, 18}, {3, 1}})
    Convolution(16, 32, height, width).Use("winograd", "on").ExpectBackendsAgree();
}

TEST(Winograd, TakesOtherPaddingsAndChannels) {
  for (const char* pad : {"pad: 0", "pad: 2", "pad_h: 1 pad_w: 0"})
    Convolution(32, 16, 9, 10, std::string("kernel_size: 3 ") + pad)
        .Use("winograd", "on")
        .ExpectBackendsAgree();
  Convolution(3, 20, 9, 9).Use("winograd", "on").ExpectBackendsAgree();
}

TEST(Winograd, AgreesForKernelsOf5x5) {
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{8, 8}, {7, 5}, {6, 11}, {1, 2}})
    Convolution(16, 32, height, width, "kernel_size: 5 pad: 2")
        .Use("winograd", "on")
        .ExpectBackendsAgree();
  for (const char* pad : {"pad: 0", "pad: 5", "pad_h: 1 pad_w: 0"})
    Convolution(32, 16, 9, 10, std::string("bias_term: false kernel_size: 5 ") + pad)
        .Use("winograd", "on")
        .ExpectBackendsAgree();
}

TEST(Winograd, TakesGroupsAndPartlyFilledVectors) {
  for (const char* kernel : {"kernel_size: 3 pad: 1", "kernel_size: 5 pad: 2"}) {
    Convolution(32, 64, 9, 7, std::string("group: 2 ") + kernel)
        .Use("winograd", "on")
        .ExpectBackendsAgree();
    Convolution(20, 50, 6, 7, kernel).Use("winograd", "on").ExpectBackendsAgree();
  }
}

TEST(Winograd, RoundsLittleMoreThanDirectConvolution) {
  const LayerCase small = Convolution(256, 64, 16, 16);
  EXPECT_LT(ErrorWith("off", small), 2e-6);
  EXPECT_LT(ErrorWith("on", small), 2e-5);
  const LayerCase large = Convolution(256, 64, 16, 16, "kernel_size: 5 pad: 2");
  EXPECT_LT(ErrorWith("off", large), 5e-6);
  EXPECT_LT(ErrorWith("on", large), 2e-5);
}

TEST(Winograd, DoesNotDependOnTheNumberOfThreadsInForward) {
  LayerCase c = Convolution(16, 16, 20, 20, "kernel_size: 5 pad: 2");
  const std::vector<double> one = c.FastTop();
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  EXPECT_EQ(c.FastTop(), one);
  c.Use("winograd", "on").ExpectBackendsAgree();
  omp_set_num_threads(before);
}

TEST(Winograd, IsUsedWhereItPays) {
  const auto expect = [](const LayerCase& from, const char* same, const char* other) {
    const auto top = [&from](const char* winograd) {
      return LayerCase(from).Use("winograd", winograd).FastTop();
    };
    EXPECT_EQ(top("auto"), top(same));
    EXPECT_NE(top("auto"), top(other));
  };
  for (const char* kernel : {"kernel_size: 3 pad: 1", "kernel_size: 5 pad: 2"}) {
    SCOPED_TRACE(kernel);
    // 2x2 tiles per image; 2x1 tiles; 2x2 tiles of which less than half is used; 20 channels.
    expect(Convolution(32, 32, 7, 7, kernel), "on", "off");
    expect(Convolution(32, 32, 8, 4, kernel), "off", "on");
    expect(Convolution(32, 32, 5, 5, kernel), "off", "on");
    expect(Convolution(20, 32, 16, 16, kernel), "off", "on");
  }
}

// With few weights, all threads read the same transformed weights.
TEST(Winograd, DividesChannelsAndTilesAmongThreads) {
  const int before = omp_get_max_threads();
  for (const char* kernel : {"kernel_size: 3 pad: 1", "kernel_size: 5 pad: 2"}) {
    for (const auto& [channels, outputs] : {std::pair<int64_t, int64_t>{64, 64}, {144, 112}}) {
      LayerCase c = Convolution(channels, outputs, 18, 15, kernel);
      const std::vector<double> one = c.Use("winograd", "on").FastTop();
      for (int threads : {2, 7}) {
        omp_set_num_threads(threads);
        EXPECT_EQ(c.FastTop(), one);
        c.ExpectBackendsAgree();
      }
      omp_set_num_threads(before);
    }
  }
}

// The batch has more tiles than a thread transforms together.
TEST(Winograd, ComputesLargeBatchesInParts) {
  Convolution(80, 48, 48, 45).Use("winograd", "on").ExpectBackendsAgree();
}

TEST(Winograd, ComputesAnImageAlikeInEveryBatch) {
  const int64_t channels = 96, extent = 14, count = channels * extent * extent;
  std::vector<double> images(8 * count);
  for (size_t i = 0; i < images.size(); ++i) images[i] = std::sin(static_cast<double>(i));
  const auto tops_of = [&](int64_t batch) {
    LayerCase c(
        "type: 'Convolution' convolution_param { num_output: 80 kernel_size: 3 pad: 1 "
        "weight_filler { type: 'msra' } }");
    return c.KeepFilledParams()
        .Bottom({batch, channels, extent, extent}, {images.begin(), images.begin() + batch * count})
        .FastTop();
  };
  const std::vector<double> one = tops_of(1), all = tops_of(8);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin()));
}

TEST(Winograd, ReadsImagesInBfloat16) {
  if (!WhyShortVectors(kFloatLanes).empty())
    GTEST_SKIP() << "the program is compiled for older CPUs";
  for (const char* kernel : {"kernel_size: 3 pad: 1", "kernel_size: 5 pad: 2"})
    EXPECT_TRUE(Convolution(32, 48, 12, 9, kernel).Use("winograd", "on").NarrowOnCpu()) << kernel;
}

// A product in bfloat16 takes half as long as one of floats.
TEST(Winograd, PaysInBfloat16WhereItSavesMostProducts) {
  const auto pays = [](int64_t kernel, int64_t extent, Winograd use) {
    ConvGeometry g;
    g.in_channels = g.out_channels = 32;
    g.kernel = {kernel, kernel};
    g.stride = g.dilation = {1, 1};
    g.output = {extent, extent};
    return WinogradPaysInBFloat16(g, use);
  };
  EXPECT_TRUE(pays(3, 28, Winograd::kAuto));
  EXPECT_TRUE(pays(3, 15, Winograd::kAuto));
  EXPECT_FALSE(pays(3, 14, Winograd::kAuto));
  EXPECT_TRUE(pays(5, 7, Winograd::kAuto));
  EXPECT_TRUE(pays(3, 14, Winograd::kOn));
  EXPECT_FALSE(pays(3, 28, Winograd::kOff));
}

TEST(Winograd, LeavesOtherConvolutionsAsTheyAre) {
  for (const char* param :
       {"kernel_size: 3 stride: 2", "kernel_size: 7 pad: 3", "kernel_size: 3 dilation: 2",
        "kernel_size: 5 group: 8", "kernel_h: 3 kernel_w: 5"}) {
    LayerCase c = Convolution(32, 32, 16, 16, param);
    const std::vector<double> off = c.Use("winograd", "off").FastTop();
    EXPECT_EQ(c.Use("winograd", "on").FastTop(), off) << param;
  }
}

}  // namespace
}  // namespace doppio

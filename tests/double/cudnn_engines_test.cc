// Tests that cuDNN computes every convolution that it can, in every precision. The layers' own
// tests run with a cuDNN that refuses at random, so they accept any engine.
#include <gtest/gtest.h>

#include <string>

#include "tests/double/machine/settings.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

struct Extents {
  const char* param;
  Shape bottom;
};

class CudnnEnginesOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    gpu_double::Settings settings = gpu_double::TheSettings();
    settings.refuse = false;
    gpu_double::Use(settings);
    ASSERT_TRUE(HasTestGpu());
  }
  static void ExpectEngine(const std::string& type, const Extents& extents,
                           const std::string& engine) {
    for (DType stored : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      LayerCase c("type: '" + type + "' convolution_param { num_output: 20 " + extents.param +
                  " weight_filler { type: 'xavier' } }");
      c.RandomBottom(extents.bottom);
      EXPECT_EQ(c.GpuEngine(stored), engine) << type << " " << extents.param << " " << Name(stored);
    }
  }
};

TEST_F(CudnnEnginesOnGpu, TakeConvolutionsInBothDirections) {
  for (const Extents& extents :
       {Extents{"kernel_size: 3 pad: 1", {3, 16, 5, 7}}, Extents{"kernel_size: 1", {3, 16, 3, 5}},
        Extents{"kernel_size: 3 pad: 1", {1, 3, 7, 5}},
        Extents{"kernel_size: 3 stride: 2 pad: 1", {3, 19, 6, 7}},
        Extents{"kernel_size: 2 dilation: 2", {1, 8, 7, 5}},
        Extents{"kernel_size: 2 group: 2", {3, 32, 5, 4}},
        Extents{"kernel_size: 3 pad: 1 group: 4", {3, 4, 5, 4}},
        Extents{"kernel_h: 3 kernel_w: 1 stride_h: 1 stride_w: 2", {3, 16, 7, 5}},
        Extents{"kernel_size: 3 pad: 1 bias_term: false", {3, 16, 9}},
        Extents{"kernel_size: 2 pad: 1 stride: 2", {3, 16, 3, 5, 2}}}) {
    ExpectEngine("Convolution", extents, "cudnn");
    ExpectEngine("Deconvolution", extents, "cudnn");
  }
}

TEST_F(CudnnEnginesOnGpu, DeclineMoreThanThreeAxes) {
  const Extents extents{"kernel_size: 2", {1, 3, 2, 3, 2, 3}};
  ExpectEngine("Convolution", extents, "cuda");
  ExpectEngine("Deconvolution", extents, "cuda");
}

}  // namespace
}  // namespace doppio

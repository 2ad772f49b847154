#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Convolve(const std::string& param) {
  return LayerCase("type: 'Convolution' convolution_param { " + param + " }");
}

// A convolution of an image of 3 x 3 pixels with the values 1 to 9.
LayerCase Nine(const std::string& param) {
  LayerCase c = Convolve("num_output: 1 " + param);
  c.Bottom({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  return c;
}

TEST(Convolution, SlidesItsKernelWithoutTurningIt) {
  Nine("kernel_size: 2")
      .Param(0, {1, 0, 0, 2})
      .Param(1, {0.5})
      .ExpectTop({1, 1, 2, 2}, {11.5, 14.5, 20.5, 23.5})
      .ExpectBottomGradient({1, 2, 3, 4}, {1, 2, 0, 3, 6, 4, 0, 6, 8});
}

TEST(Convolution, PadsWithZerosAndStrides) {
  Nine("kernel_size: 3 stride: 2 pad: 1 bias_term: false")
      .Param(0, std::vector<double>(9, 1))
      .ExpectTop({1, 1, 2, 2}, {12, 16, 24, 28});
}

TEST(Convolution, DilatesItsKernel) {
  Nine("kernel_size: 2 dilation: 2 bias_term: false")
      .Param(0, {1, 2, 3, 4})
      .ExpectTop({1, 1, 1, 1}, {64});
}

TEST(Convolution, ReadsDeepLabsNameOfTheDilation) {
  for (const char* hole : {"hole: 2", "hole: 2 hole: 2", "hole_h: 2 hole_w: 2"}) {
    Nine(std::string("kernel_size: 2 bias_term: false ") + hole)
        .Param(0, {1, 2, 3, 4})
        .ExpectTop({1, 1, 1, 1}, {64});
  }
  Nine("kernel_size: 2 bias_term: false hole_w: 2")
      .Param(0, {1, 2, 3, 4})
      .ExpectTop({1, 1, 2, 1}, {43, 73});
}

TEST(Convolution, IgnoresEnginesOfForks) {
  for (const char* engine : {"LIBDNN", "INTEL_SPATIAL", "FFT", "MKL2017"}) {
    Nine(std::string("kernel_size: 3 bias_term: false engine: ") + engine)
        .Param(0, std::vector<double>(9, 1))
        .ExpectTop({1, 1, 1, 1}, {45});
  }
}

TEST(Convolution, SeparatesGroups) {
  Convolve("num_output: 2 kernel_size: 1 group: 2 bias_term: false")
      .Bottom({1, 2, 1, 2}, {1, 2, 3, 4})
      .Param(0, {10, 100})
      .ExpectTop({1, 2, 1, 2}, {10, 20, 300, 400});
}

TEST(Convolution, HasAKernelForEachAxis) {
  const std::string fields[] = {"kernel_h: 1 kernel_w: 2 pad_h: 0 pad_w: 1 stride_h: 1 stride_w: 1",
                                "kernel_size: 1 kernel_size: 2 pad: 0 pad: 1",
                                "kernel_h: 1 kernel_w: 2 pad_w: 1"};
  for (const std::string& param : fields) {
    Convolve("num_output: 1 bias_term: false " + param)
        .Bottom({1, 1, 1, 2}, {3, 4})
        .Param(0, {1, 10})
        .ExpectTop({1, 1, 1, 3}, {30, 43, 4});
  }
}

TEST(Convolution, WorksInAnyNumberOfDimensions) {
  Convolve("num_output: 1 kernel_size: 3 pad: 1 bias_term: false")
      .Bottom({1, 1, 4}, {1, 2, 3, 4})
      .Param(0, {1, 0, -1})
      .ExpectTop({1, 1, 4}, {-2, -2, -2, 3});
  Convolve("num_output: 1 kernel_size: 2 bias_term: false")
      .Bottom({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
      .Param(0, std::vector<double>(8, 1))
      .ExpectTop({1, 1, 1, 1, 1}, {36});
  Convolve("num_output: 1 bias_term: false")
      .Bottom({3, 2}, {1, 2, 3, 4, 5, 6})
      .Param(0, {1, 10})
      .ExpectTop({3, 1}, {21, 43, 65});
}

TEST_ON_DEVICES(Convolution, CountsAxesBeforeTheChannelsAsBatch) {
  Convolve("num_output: 1 axis: 2 kernel_size: 2 bias_term: false")
      .Bottom({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6})
      .Param(0, {1, 1})
      .ExpectTop({1, 2, 1, 2}, {3, 5, 9, 11})
      .ExpectBackendsAgree();
}

// Neither the engine nor a negative axis changes the results.
TEST_ON_DEVICES(Convolution, TakesFieldsThatChangeNothing) {
  for (const char* param :
       {"engine: CAFFE", "engine: CUDNN", "engine: MKLDNN", "force_nd_im2col: true", "axis: -3"}) {
    Nine("kernel_size: 2 " + std::string(param))
        .Param(0, {1, 0, 0, 2})
        .Param(1, {0.5})
        .ExpectTop({1, 1, 2, 2}, {11.5, 14.5, 20.5, 23.5})
        .ExpectBackendsAgree();
  }
}

TEST_ON_DEVICES(Convolution, SharesWeightsAmongBottoms) {
  Convolve("num_output: 1 kernel_size: 1 bias_term: false")
      .Bottom({1, 1, 1, 1}, {2})
      .Bottom({1, 1, 1, 1}, {3})
      .Tops(2)
      .Param(0, {10})
      .ExpectTop({1, 1, 1, 1}, {20})
      .ExpectTop({1, 1, 1, 1}, {30}, 1e-5, 1);
  LayerCase two = Convolve("num_output: 3 kernel_size: 2");
  two.RandomBottom({3, 2, 3, 2})
      .RandomBottom({3, 2, 3, 2})
      .Tops(2)
      .ExpectGradient()
      .ExpectBackendsAgree();
  two.Read(1).ExpectGradient().ExpectBackendsAgree();
}

TEST(Convolution, StartsByItsFillers) {
  Nine("kernel_size: 3 weight_filler { value: 1 } bias_filler { value: 5 }")
      .KeepFilledParams()
      .ExpectTop({1, 1, 1, 1}, {50});
}

struct Variant {
  std::string param;
  Shape small, large;  // for finite differences; for the fast kernels
};

class ConvolutionVariants : public TestOnDevices<Variant> {};

TEST_P(ConvolutionVariants, AgreeWithDifferencesAndInEveryLayout) {
  const Variant& v = GetParam();
  Convolve("num_output: 4 " + v.param).RandomBottom(v.small).ExpectGradient().ExpectBackendsAgree();
  Convolve("num_output: 4 bias_term: false " + v.param).RandomBottom(v.small).ExpectGradient();
  for (const char* outputs : {"num_output: 16 ", "num_output: 20 bias_term: false "}) {
    LayerCase c = Convolve(outputs + v.param);
    c.RandomBottom(v.large).ExpectBackendsAgree(1e-4);
    EXPECT_EQ(c.Engine(), "onednn") << v.param;
    c.ExpectGpuKernel();
    c.ExpectNarrowOnGpu();
    c.ExpectNoGpuConversions();
  }
}

INSTANTIATE_ON_DEVICES(
    Convolution, ConvolutionVariants,
    testing::Values(Variant{"kernel_size: 3", {3, 2, 4, 3}, {3, 16, 5, 7}},
                    Variant{"kernel_size: 1", {1, 2, 2, 3}, {3, 16, 3, 5}},
                    Variant{"kernel_size: 3 pad: 1", {1, 2, 2, 3}, {1, 3, 7, 5}},
                    Variant{"kernel_size: 3 stride: 2 pad: 1", {3, 1, 4, 3}, {3, 19, 6, 7}},
                    Variant{"kernel_size: 1 stride: 2", {1, 2, 4, 3}, {1, 16, 5, 7}},
                    Variant{"kernel_size: 2 dilation: 2", {3, 2, 3, 4}, {1, 8, 7, 5}},
                    Variant{
                        "kernel_size: 3 dilation: 2 pad: 2 stride: 2", {1, 1, 3, 4}, {3, 16, 6, 5}},
                    Variant{"kernel_size: 2 group: 2", {3, 4, 3, 2}, {3, 32, 5, 4}},
                    Variant{"kernel_size: 3 pad: 1 group: 2", {1, 2, 3, 2}, {1, 6, 5, 4}},
                    Variant{"kernel_size: 3 group: 4 pad: 1", {1, 4, 3, 2}, {3, 4, 5, 4}},
                    Variant{"kernel_h: 3 kernel_w: 1 stride_h: 1 stride_w: 2 pad_h: 2 pad_w: 0",
                            {1, 2, 3, 3},
                            {3, 16, 7, 5}},
                    Variant{"kernel_size: 5 pad: 2 stride: 3", {1, 1, 4, 5}, {1, 3, 11, 9}},
                    Variant{"kernel_size: 3 pad: 1", {3, 2, 4}, {3, 16, 9}},
                    Variant{"kernel_size: 3 stride: 2 dilation: 2", {1, 2, 7}, {1, 5, 11}},
                    Variant{"kernel_size: 2 pad: 1 stride: 2", {1, 2, 2, 3, 1}, {3, 16, 3, 5, 2}},
                    Variant{"kernel_size: 2 kernel_size: 1 kernel_size: 3 group: 2",
                            {1, 2, 2, 2, 3},
                            {1, 4, 3, 2, 5}}));

// A depthwise convolution: each channel is a separate group.
TEST_ON_DEVICES(Convolution, MayKeepChannelsApart) {
  for (int channels : {3, 16, 19}) {
    const std::string n = std::to_string(channels);
    Convolve("num_output: " + n + " group: " + n + " kernel_size: 3 pad: 1")
        .RandomBottom({3, channels, 5, 4})
        .ExpectBackendsAgree();
  }
}

TEST_ON_DEVICES(Convolution, AgreesInFourSpatialDimensions) {
  LayerCase c = Convolve("num_output: 2 kernel_size: 2");
  c.RandomBottom({1, 2, 2, 3, 2, 2}).ExpectGradient().ExpectBackendsAgree();
  EXPECT_EQ(c.Engine(), "reference");
  c.ExpectGpuKernel();
  Convolve("num_output: 3").RandomBottom({3, 4}).ExpectGradient().ExpectBackendsAgree();
}

TEST_ON_DEVICES(Convolution, MayFreezeEachParameter) {
  for (const char* param : {"param { lr_mult: 0 }", "param { lr_mult: 1 } param { lr_mult: 0 }",
                            "param { lr_mult: 0 } param { lr_mult: 0 }"}) {
    LayerCase("type: 'Convolution' convolution_param { num_output: 3 kernel_size: 2 } " +
              std::string(param))
        .RandomBottom({3, 2, 3, 2})
        .ExpectGradient()
        .ExpectBackendsAgree();
  }
}

TEST(Convolution, ExplainsMistakes) {
  Nine("").ExpectMistake({"kernel_size is missing", "kernel_size: 3"});
  Nine("kernel_h: 2").ExpectMistake({"kernel_h and kernel_w are both needed"});
  Nine("kernel_size: 2 kernel_h: 2 kernel_w: 2")
      .ExpectMistake({"both kernel_size and kernel_h/kernel_w"});
  Nine("kernel_size: 2 stride: 1 stride_w: 1").ExpectMistake({"both stride and stride_h/stride_w"});
  Nine("kernel_size: 1 kernel_size: 1 kernel_size: 1")
      .ExpectMistake({"kernel_size is given 3 times", "2 spatial axes"});
  Nine("kernel_size: 0").ExpectMistake({"kernel_size must be positive, found 0"});
  Nine("kernel_size: 1 stride: 0").ExpectMistake({"stride must be positive, found 0"});
  Nine("kernel_size: 1 stride_h: 0 stride_w: 1")
      .ExpectMistake({"stride must be positive, found 0"});
  Nine("kernel_size: 1 dilation: 1 hole: 2").ExpectMistake({"dilation and hole", "keep dilation"});
  Nine("kernel_size: 1 dilation: 0").ExpectMistake({"dilation must be positive, found 0"});
  Nine("kernel_size: 1 pad: 3000000000").ExpectMistake({"pad must be a count, found 3000000000"});
  Nine("kernel_size: 1 axis: 4").ExpectMistake({"axis 4 does not exist", "1x1x3x3"});
  Nine("kernel_size: 1 group: 0").ExpectMistake({"group must be positive"});
  Nine("kernel_size: 1 group: 2").ExpectMistake({"1 channels do not divide into group: 2"});
  Nine("kernel_size: 4")
      .ExpectMistake({"kernel_size 4 is larger than the padded input 3x3", "pad"});
  Nine("kernel_h: 4 kernel_w: 1").ExpectMistake({"kernel_size 4x1 is larger"});
  Nine("kernel_size: 2 dilation: 3").ExpectMistake({"kernel_size 2, dilated to 4x4,", "3x3"});
  Convolve("kernel_size: 1")
      .RandomBottom({1, 1, 2, 2})
      .ExpectMistake({"num_output must be positive, found 0"});
  Convolve("kernel_size: 1 num_output: 3 group: 2")
      .RandomBottom({1, 2, 2, 2})
      .ExpectMistake({"num_output 3 is not a multiple of group 2"});
  Convolve("kernel_h: 1 kernel_w: 1 num_output: 1")
      .RandomBottom({1, 1, 4})
      .ExpectMistake({"for 2 spatial axes, the bottom has 1", "use kernel_size"});
  Convolve("kernel_size: 1 num_output: 1")
      .RandomBottom({1, 1, 2, 2})
      .RandomBottom({1, 1, 3, 2})
      .Tops(2)
      .ExpectMistake({"one shape", "found 1x1x3x2 after 1x1x2x2"});
  Convolve("kernel_size: 1 num_output: 1")
      .RandomBottom({1, 1, 2, 2})
      .Tops(2)
      .ExpectMistake({"one top per bottom"});
}

}  // namespace
}  // namespace doppio

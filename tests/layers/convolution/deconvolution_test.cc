#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Deconvolve(const std::string& param) {
  return LayerCase("type: 'Deconvolution' convolution_param { " + param + " }");
}

LayerCase Four(const std::string& param) {
  LayerCase c = Deconvolve("num_output: 1 " + param);
  c.Bottom({1, 1, 2, 2}, {1, 2, 3, 4});
  return c;
}

TEST(Deconvolution, SpreadsEachPixelByItsKernel) {
  Four("kernel_size: 2 stride: 2")
      .Param(0, {1, 10, 100, 1000})
      .Param(1, {0.5})
      .ExpectTop({1, 1, 4, 4}, {1.5, 10.5, 2.5, 20.5, 100.5, 1000.5, 200.5, 2000.5,  //
                                3.5, 30.5, 4.5, 40.5, 300.5, 3000.5, 400.5, 4000.5});
}

TEST(Deconvolution, AddsWhereKernelsOverlap) {
  Four("kernel_size: 2 bias_term: false")
      .Param(0, {1, 10, 100, 1000})
      .ExpectTop({1, 1, 3, 3}, {1, 12, 20, 103, 1234, 2040, 300, 3400, 4000})
      .ExpectBottomGradient({1, 0, 0, 0, 1, 0, 0, 0, 0}, {1001, 100, 10, 1});
}

TEST(Deconvolution, CutsPaddingOff) {
  Four("kernel_size: 2 pad: 1 bias_term: false")
      .Param(0, {1, 10, 100, 1000})
      .ExpectTop({1, 1, 1, 1}, {1234});
}

TEST(Deconvolution, SpreadsADilatedKernel) {
  Deconvolve("num_output: 1 kernel_size: 2 dilation: 2 bias_term: false")
      .Bottom({1, 1, 2}, {1, 2})
      .Param(0, {1, 10})
      .ExpectTop({1, 1, 4}, {1, 2, 10, 20});
}

// The weights have the shape (inputs, outputs per group, kernel).
TEST(Deconvolution, MixesChannelsWithinAGroup) {
  Deconvolve("num_output: 2 kernel_size: 1 bias_term: false")
      .Bottom({1, 3, 1, 1}, {1, 2, 3})
      .Param(0, {1, 10, 100, 1000, 10000, 100000})
      .ExpectTop({1, 2, 1, 1}, {1 + 200 + 30000, 10 + 2000 + 300000});
  Deconvolve("num_output: 4 kernel_size: 1 group: 2 bias_term: false")
      .Bottom({1, 2, 1, 1}, {1, 2})
      .Param(0, {1, 10, 100, 1000})
      .ExpectTop({1, 4, 1, 1}, {1, 10, 200, 2000});
}

TEST(Deconvolution, WarnsOfABilinearFillerThatMixesChannels) {
  const auto warnings = [](const std::string& fields) {
    return LayerWarnings(GraphFromText(
        "layer { name: 'in' type: 'TestInput' top: 'x' input_param { shape { dim: [1, 3, 2, 2] } } "
        "}\n"
        "layer { name: 'up' type: 'Deconvolution' bottom: 'x' top: 'up' convolution_param {\n"
        "  kernel_size: 4 stride: 2 " +
        fields + " } }"));
  };
  const std::vector<Warning> mixed = warnings("num_output: 3\n weight_filler { type: 'bilinear' }");
  ASSERT_EQ(mixed.size(), 1u);
  EXPECT_EQ(mixed[0].at.ToString(), "net.prototxt:4:2");
  EXPECT_EQ(mixed[0].message,
            "layer 'up': with group: 1, bilinear weights add up channels of the bottom; to enlarge "
            "each channel by itself, set num_output: 3 and group: 3");
  EXPECT_EQ(warnings("num_output: 1 weight_filler { type: 'bilinear' }").size(), 1u);
  EXPECT_TRUE(warnings("num_output: 3 group: 3 weight_filler { type: 'bilinear' }").empty());
  EXPECT_TRUE(warnings("num_output: 3 weight_filler { type: 'xavier' }").empty());
}

TEST(Deconvolution, EnlargesByABilinearFiller) {
  LayerCase(
      "type: 'Deconvolution' param { lr_mult: 0 } convolution_param { num_output: 1 "
      "kernel_size: 4 stride: 2 pad: 1 bias_term: false weight_filler { type: 'bilinear' } }")
      .Bottom({1, 1, 2, 2}, {16, 16, 16, 16})
      .KeepFilledParams()
      .ExpectTop({1, 1, 4, 4}, {9, 12, 12, 9, 12, 16, 16, 12, 12, 16, 16, 12, 9, 12, 12, 9});
}

TEST_ON_DEVICES(Deconvolution, SharesWeightsAmongBottoms) {
  LayerCase two = Deconvolve("num_output: 3 kernel_size: 2");
  two.RandomBottom({3, 2, 3, 2})
      .RandomBottom({3, 2, 3, 2})
      .Tops(2)
      .ExpectGradient()
      .ExpectBackendsAgree();
  two.Read(1).ExpectGradient().ExpectBackendsAgree();
}

TEST_ON_DEVICES(Deconvolution, MayFreezeEachParameter) {
  for (const char* param : {"param { lr_mult: 0 }", "param { lr_mult: 1 } param { lr_mult: 0 }",
                            "param { lr_mult: 0 } param { lr_mult: 0 }"}) {
    LayerCase("type: 'Deconvolution' convolution_param { num_output: 3 kernel_size: 2 } " +
              std::string(param))
        .RandomBottom({3, 2, 3, 2})
        .ExpectGradient()
        .ExpectBackendsAgree();
  }
}

TEST_ON_DEVICES(Deconvolution, CountsAxesBeforeTheChannelsAsBatch) {
  for (const char* axis : {"axis: 2 ", "axis: -2 "}) {
    Deconvolve("num_output: 1 kernel_size: 2 bias_term: false " + std::string(axis))
        .Bottom({1, 2, 1, 2}, {1, 2, 3, 4})
        .Param(0, {1, 10})
        .ExpectTop({1, 2, 1, 3}, {1, 12, 20, 3, 34, 40});
    Deconvolve("num_output: 3 kernel_size: 2 " + std::string(axis))
        .RandomBottom({2, 3, 2, 4})
        .ExpectGradient()
        .ExpectBackendsAgree();
  }
}

struct Variant {
  std::string param;
  Shape small, large;  // for finite differences; for the fast kernels
};

class DeconvolutionVariants : public TestOnDevices<Variant> {};

TEST_P(DeconvolutionVariants, AgreeWithDifferencesAndInEveryLayout) {
  const Variant& v = GetParam();
  Deconvolve("num_output: 4 " + v.param)
      .RandomBottom(v.small)
      .ExpectGradient()
      .ExpectBackendsAgree();
  Deconvolve("num_output: 4 bias_term: false " + v.param).RandomBottom(v.small).ExpectGradient();
  for (const char* outputs : {"num_output: 16 ", "num_output: 20 bias_term: false "}) {
    LayerCase c = Deconvolve(outputs + v.param);
    c.RandomBottom(v.large).ExpectBackendsAgree(1e-4);
    EXPECT_EQ(c.Engine(), "onednn") << v.param;
    c.ExpectGpuKernel();
    c.ExpectNarrowOnGpu();
    c.ExpectNoGpuConversions();
  }
}

INSTANTIATE_ON_DEVICES(
    Deconvolution, DeconvolutionVariants,
    testing::Values(Variant{"kernel_size: 3", {3, 2, 2, 3}, {3, 16, 5, 7}},
                    Variant{"kernel_size: 1", {1, 2, 2, 3}, {3, 16, 3, 5}},
                    Variant{"kernel_size: 4 stride: 2 pad: 1", {1, 2, 2, 3}, {1, 3, 7, 5}},
                    Variant{"kernel_size: 2 stride: 3", {1, 2, 2, 3}, {1, 19, 3, 5}},
                    Variant{"kernel_size: 2 dilation: 2", {3, 2, 3, 2}, {1, 8, 7, 5}},
                    Variant{"kernel_size: 2 group: 2", {3, 4, 3, 2}, {3, 32, 5, 4}},
                    Variant{"kernel_size: 4 stride: 2 pad: 1 group: 4", {1, 4, 2, 2}, {3, 4, 5, 4}},
                    Variant{"kernel_h: 3 kernel_w: 1 stride_h: 1 stride_w: 2 pad_h: 2 pad_w: 0",
                            {1, 2, 3, 3},
                            {3, 16, 7, 5}},
                    Variant{"kernel_size: 3 stride: 2", {3, 2, 3}, {3, 16, 9}},
                    Variant{"kernel_size: 2 stride: 2", {1, 2, 2, 2, 1}, {3, 16, 3, 5, 2}}));

// Networks enlarge score maps in this way: each channel is a separate group.
TEST_ON_DEVICES(Deconvolution, MayKeepChannelsApart) {
  for (int channels : {3, 16, 19}) {
    const std::string n = std::to_string(channels);
    Deconvolve("num_output: " + n + " group: " + n + " kernel_size: 4 stride: 2 pad: 1")
        .RandomBottom({3, channels, 5, 4})
        .ExpectBackendsAgree();
  }
}

TEST_ON_DEVICES(Deconvolution, AgreesInFourSpatialDimensions) {
  LayerCase c = Deconvolve("num_output: 2 kernel_size: 2");
  c.RandomBottom({1, 2, 2, 1, 2, 2}).ExpectGradient().ExpectBackendsAgree();
  EXPECT_EQ(c.Engine(), "reference");
  Deconvolve("num_output: 3").RandomBottom({3, 4}).ExpectGradient().ExpectBackendsAgree();
}

TEST(Deconvolution, ExplainsMistakes) {
  Four("").ExpectMistake({"kernel_size is missing"});
  Four("kernel_size: 1 pad: 1").ExpectMistake({"pad leaves a top of 0x0", "smaller pad"});
  Four("kernel_size: 1 group: 2").ExpectMistake({"1 channels do not divide into group: 2"});
  Deconvolve("kernel_size: 1 num_output: 3 group: 2")
      .RandomBottom({1, 2, 2, 2})
      .ExpectMistake({"num_output 3 is not a multiple of group 2"});
}

// ---- The forks' names for a depthwise convolution ----

class Depthwise : public TestOnDevices<const char*> {};

TEST_P(Depthwise, KeepsChannelsApart) {
  const std::string type = "type: '" + std::string(GetParam()) + "' convolution_param { ";
  for (const char* outputs : {"", "num_output: 2 ", "num_output: 2 group: 2 "}) {
    LayerCase(type + outputs + "kernel_size: 1 bias_term: false }")
        .Bottom({1, 2, 1, 2}, {1, 2, 3, 4})
        .Param(0, {10, 100})
        .ExpectTop({1, 2, 1, 2}, {10, 20, 300, 400});
  }
  // Each channel has two outputs.
  LayerCase(type + "num_output: 4 kernel_size: 1 bias_term: false }")
      .Bottom({1, 2, 1, 1}, {1, 2})
      .Param(0, {10, 100, 1000, 10000})
      .ExpectTop({1, 4, 1, 1}, {10, 100, 2000, 20000});
  LayerCase c(type + "num_output: 16 kernel_size: 3 pad: 1 stride: 2 }");
  c.RandomBottom({3, 16, 5, 4}).ExpectBackendsAgree();
  EXPECT_EQ(c.Engine(), "onednn");
}

TEST_P(Depthwise, RefusesOtherGroups) {
  const std::string type = "type: '" + std::string(GetParam()) + "' convolution_param { ";
  LayerCase(type + "num_output: 4 kernel_size: 1 group: 2 }")
      .RandomBottom({1, 4, 2, 2})
      .ExpectMistake(
          {"a group for each of the bottom's 4 channels, found group: 2", "Convolution"});
  LayerCase(type + "num_output: 3 kernel_size: 1 }")
      .RandomBottom({1, 2, 2, 2})
      .ExpectMistake({"num_output 3 is not a multiple of group 2"});
}

INSTANTIATE_ON_DEVICES(Deconvolution, Depthwise,
                       testing::Values("ConvolutionDepthwise", "DepthwiseConvolution"));

}  // namespace
}  // namespace doppio

// Convolutions and inner products with fused tails, with activations in 16 bits: on a GPU, and
// inner products on the CPU. A fused chain must compute what the separate layers compute, except
// that it does not round between them. The layers' own tests check the separate layers.
#include "tests/layers/common/fusion_case.h"

namespace doppio {
namespace {

constexpr char kConvolve[] =
    "layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: "
    "24 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } bias_filler { type: 'uniform' min: "
    "-1 } } }\n";
constexpr char kMultiply[] =
    "layer { name: 'dense' type: 'InnerProduct' bottom: 'x' top: 'c' inner_product_param { "
    "num_output: 37 weight_filler { type: 'xavier' } bias_filler { type: 'uniform' min: -1 } } }\n";
constexpr char kAdd[] =
    "layer { name: 'sum' type: 'Eltwise' bottom: 'other' bottom: 'c' top: 's' }\n";

std::string Last(const std::string& type, const std::string& more = "", const char* bottom = "c") {
  return "layer { name: 'last' type: '" + type + "' bottom: '" + bottom + "' top: 'y' " + more +
         " }\n";
}

void ExpectSameIn16Bits(Device* device, const std::string& layers, const std::string& chain) {
  for (const char* type : {"FLOAT16", "BFLOAT16"}) {
    for (const Shape& shape : {Shape{3, 24, 5, 7}, Shape{9, 24, 4, 1}}) {
      NetCase c;
      c.layers = "default_forward_type: " + std::string(type) + "\n" + layers;
      c.shape = shape;
      SCOPED_TRACE(c.Text());
      const Outcome together = RunOn(device, c, true), apart = RunOn(device, c, false);
      EXPECT_EQ(together.chains, std::vector<std::string>{chain});
      EXPECT_TRUE(apart.chains.empty());
      // The results differ by one rounding, relative to the largest number.
      const double tolerance = type == std::string("FLOAT16") ? 0x1p-10 : 0x1p-7;
      ExpectClose(together.top, apart.top, tolerance, "top", 1);
      ExpectClose(together.gradients, apart.gradients, tolerance, 1);
    }
  }
}

TEST_ON_GPU(NarrowChains, OfConvolutionsRoundOnce) {
  const std::unique_ptr<Device> gpu = TestGpu();
  ExpectSameIn16Bits(gpu.get(), kConvolve + Last("ReLU"), "Convolution+ReLU");
  ExpectSameIn16Bits(gpu.get(), kConvolve + Last("ReLU", "relu_param { negative_slope: 0.25 }"),
                     "Convolution+ReLU");
  ExpectSameIn16Bits(gpu.get(), kConvolve + Last("Eltwise", "bottom: 'other'"),
                     "Convolution+Eltwise");
  ExpectSameIn16Bits(gpu.get(), kConvolve + std::string(kAdd) + Last("ReLU", "", "s"),
                     "Convolution+Eltwise+ReLU");
}

TEST_ON_DEVICES(NarrowChains, OfProductsRoundOnce) {
  const std::unique_ptr<Device> device = TestDevice();
  ExpectSameIn16Bits(device.get(), kMultiply + Last("ReLU"), "InnerProduct+ReLU");
  ExpectSameIn16Bits(device.get(), kMultiply + Last("ReLU", "relu_param { negative_slope: 0.25 }"),
                     "InnerProduct+ReLU");
}

// The bottoms are in 16 bits. The convolution with axis 2 works on converted copies.
TEST_ON_GPU(NarrowChains, MayEndInSinglePrecision) {
  const std::unique_ptr<Device> gpu = TestGpu();
  const std::string fillers = "weight_filler { type: 'xavier' }";
  for (const char* stored : {"forward_type: FLOAT", ""}) {
    for (const std::string& layer :
         {"type: 'Convolution' convolution_param { num_output: 5 kernel_size: 3 " + fillers + " }",
          "type: 'Convolution' convolution_param { num_output: 5 kernel_size: 2 axis: 2 " +
              fillers + " }",
          "type: 'InnerProduct' inner_product_param { num_output: 5 " + fillers + " }"}) {
      NetCase c;
      c.layers = "default_forward_type: FLOAT16 layer { name: 'product' bottom: 'x' top: 'y' " +
                 layer + stored + " }\n";
      SCOPED_TRACE(c.layers);
      const Outcome there = RunOn(gpu.get(), c, true), here = doppio::Run(c, false);
      ExpectClose(there.top, here.top, *stored != '\0' ? 2e-5 : 0x1p-9, "top", 1);
      ExpectClose(there.gradients, here.gradients, 0x1p-9, 1);
    }
  }
}

}  // namespace
}  // namespace doppio

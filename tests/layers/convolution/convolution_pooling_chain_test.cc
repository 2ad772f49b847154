// A convolution together with MAX pooling (layers/convolution/convolution_pooling_chain.cc),
// compared with the separate layers.
#include "core/base/threads.h"
#include "layers/convolution/image_lanes.h"
#include "tests/layers/common/fusion_case.h"
#include "tests/layers/common/same_vectors.h"

namespace doppio {
namespace {

using image_lanes::kImages;

std::string ConvText(int outputs, const std::string& form, const std::string& more = "") {
  return "layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'c' " + more +
         " convolution_param { num_output: " + std::to_string(outputs) + " " + form +
         " weight_filler { type: 'xavier' } bias_filler { type: 'uniform' min: -1 } } }\n";
}
std::string PoolText(const std::string& bottom, const std::string& top, const std::string& form) {
  return "layer { name: 'pool' type: 'Pooling' bottom: '" + bottom + "' top: '" + top +
         "' pooling_param { " + form + " } }\n";
}
std::string ReluText(const std::string& bottom, const std::string& top,
                     const std::string& slope = "0") {
  return "layer { name: 'relu' type: 'ReLU' bottom: '" + bottom + "' top: '" + top +
         "' relu_param { negative_slope: " + slope + " } }\n";
}

const char kHalf[] = "kernel_size: 2 stride: 2";

// Returns the smallest batch that gives each thread a block of images; the chain takes no smaller
// one.
int64_t FullBlocks() { return int64_t{kImages} * NumThreads(); }

// Expects exactly the chain `chain`, or none if it is empty, and the numbers of the separate layers
// up to rounding.
void ExpectChain(const NetCase& c, const std::string& chain, double tolerance = 1e-5) {
  SCOPED_TRACE(c.Text() + (c.backward ? " backward" : ""));
  const Outcome together = RunOn(MakeCpuDevice().get(), c, true);
  EXPECT_EQ(together.chains,
            chain.empty() ? std::vector<std::string>() : std::vector<std::string>{chain});
  NetCase separate = c;
  separate.stored = DType::kFloat32;
  const Outcome apart = Run(separate, false);
  ExpectClose(together.top, apart.top, tolerance, "top");
  ExpectClose(together.values, apart.values, tolerance);
  ExpectClose(together.gradients, apart.gradients, tolerance);
}

void ExpectChainInAllPhases(NetCase c, const std::string& chain) {
  ExpectChain(c, chain);
  c.bottoms_learn = false;
  ExpectChain(c, chain);
  c.phase = TEST;
  c.backward = false;
  ExpectChain(c, chain);
}

TEST(ConvolutionPooling, GivesTheNumbersOfSeparateLayersForAnyBatch) {
  for (int64_t batch : {FullBlocks() - 1, FullBlocks(), 2 * FullBlocks() + 5}) {
    NetCase c;
    c.shape = {batch, 5, 12, 13};
    c.layers = ConvText(7, "kernel_size: 5") + PoolText("c", "y", kHalf);
    ExpectChainInAllPhases(c, "Convolution+Pooling");
    c.layers = ConvText(7, "kernel_size: 5") + ReluText("c", "c") + PoolText("c", "y", kHalf);
    ExpectChainInAllPhases(c, "Convolution+ReLU+Pooling");
    c.layers = ConvText(7, "kernel_size: 5") + PoolText("c", "p", kHalf) + ReluText("p", "y");
    ExpectChainInAllPhases(c, "Convolution+Pooling+ReLU");
  }
}

TEST(ConvolutionPooling, TakesAnyExtents) {
  const char* convs[] = {"kernel_size: 3", "kernel_size: 3 pad: 1", "kernel_size: 5 pad_h: 2",
                         "kernel_size: 5 pad: 4 bias_term: false"};
  const char* pools[] = {"kernel_size: 3 stride: 2", "kernel_size: 3 stride: 1 pad: 1",
                         "kernel_h: 2 kernel_w: 3 stride_h: 3 stride_w: 1 round_mode: FLOOR",
                         "kernel_size: 2 stride: 3 round_mode: FLOOR"};
  for (const char* conv : convs) {
    for (const char* pool : pools) {
      for (int64_t width : {7, 16, 23}) {
        NetCase c;
        c.shape = {FullBlocks(), 3, 9, width};
        c.layers = ConvText(10, conv) + ReluText("c", "c") + PoolText("c", "y", pool);
        ExpectChain(c, "Convolution+ReLU+Pooling");
      }
    }
  }
}

TEST(ConvolutionPooling, TakesFewAndManyChannels) {
  for (int inputs : {1, 2, 17}) {
    for (int outputs : {1, 8, 25}) {
      NetCase c;
      c.shape = {3 * FullBlocks() - 2, inputs, 8, 8};
      c.layers = ConvText(outputs, "kernel_size: 3") + PoolText("c", "y", kHalf);
      ExpectChain(c, "Convolution+Pooling");
    }
  }
}

TEST(ConvolutionPooling, KeepsFrozenParameters) {
  for (const char* more : {"param { lr_mult: 0 }", "param { lr_mult: 1 } param { lr_mult: 0 }",
                           "param { lr_mult: 0 } param { lr_mult: 0 }"}) {
    NetCase c;
    c.shape = {FullBlocks(), 3, 8, 8};
    c.layers = ConvText(6, "kernel_size: 3", more) + PoolText("c", "y", kHalf);
    ExpectChain(c, "Convolution+Pooling");
  }
}

TEST(ConvolutionPooling, Stores16Bits) {
  for (DType type : {DType::kBFloat16, DType::kFloat16}) {
    NetCase c;
    c.shape = {FullBlocks() - 1, 3, 10, 10};
    c.rounded = c.stored = type;
    c.layers = ConvText(6, "kernel_size: 3") + ReluText("c", "c") + PoolText("c", "y", kHalf);
    const double unit = type == DType::kBFloat16 ? 0x1p-8 : 0x1p-11;
    ExpectChain(c, "Convolution+ReLU+Pooling", 4 * unit);
  }
}

// Three blocks of images for two threads: both with and without a gradient of the bottom, for which
// the blocks are divided in different ways.
TEST(ConvolutionPooling, DividesBlocksAmongThreads) {
  const ThreadCount two(2);
  NetCase c;
  c.shape = {3 * kImages, 3, 10, 10};
  c.layers = ConvText(13, "kernel_size: 3") + PoolText("c", "y", kHalf);
  ExpectChainInAllPhases(c, "Convolution+Pooling");
  c.shape = {kImages, 3, 10, 10};
  ExpectChain(c, "");  // too few for two threads
}

TEST(ConvolutionPooling, GivesTheSameBitsEveryTime) {
  NetCase c;
  c.shape = {3 * FullBlocks(), 3, 10, 10};
  c.layers = ConvText(6, "kernel_size: 3") + PoolText("c", "y", kHalf);
  const Outcome once = RunOn(MakeCpuDevice().get(), c, true),
                again = RunOn(MakeCpuDevice().get(), c, true);
  EXPECT_EQ(once.top, again.top);
  EXPECT_EQ(once.gradients, again.gradients);
}

TEST(ConvolutionPooling, LeavesApartWhatItCannotCompute) {
  const char* convs[] = {"kernel_size: 4", "kernel_size: 3 stride: 2", "kernel_size: 3 group: 3",
                         "kernel_size: 3 dilation: 2", "kernel_h: 3 kernel_w: 5"};
  NetCase c;
  c.shape = {FullBlocks(), 3, 12, 12};
  for (const char* conv : convs) {
    c.layers = ConvText(6, conv) + PoolText("c", "y", kHalf);
    ExpectChain(c, "");
  }
  c.layers =
      ConvText(6, "kernel_size: 3") + PoolText("c", "y", "pool: AVE kernel_size: 2 stride: 2");
  ExpectChain(c, "");
  c.layers = ConvText(6, "kernel_size: 3") + ReluText("c", "c", "0.1") + PoolText("c", "y", kHalf);
  ExpectChain(c, "Convolution+ReLU");
  c.dtype = DType::kFloat64;
  c.layers = ConvText(6, "kernel_size: 3") + PoolText("c", "y", kHalf);
  ExpectChain(c, "");
}

// Every weight is 1, so an output is the sum of 9 pixels and the bias.
TEST(ConvolutionPooling, ComputesByHand) {
  NetCase c;
  c.shape = {FullBlocks(), 1, 4, 4};
  c.layers =
      "layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { "
      "num_output: 1 kernel_size: 3 weight_filler { type: 'constant' value: 1 } bias_filler { "
      "type: "
      "'constant' value: 0.5 } } }\n" +
      PoolText("c", "y", kHalf);
  const Outcome o = RunOn(MakeCpuDevice().get(), c, true);
  ASSERT_EQ(o.chains, std::vector<std::string>{"Convolution+Pooling"});
  ASSERT_EQ(o.top.size(), static_cast<size_t>(FullBlocks()));
  const Random random(11, Stream("bottom", "", 0));
  for (int n = 0; n < FullBlocks(); ++n) {
    double largest = -1e9;
    for (int window = 0; window < 4; ++window) {
      double sum = 0.5;
      for (int i = 0; i < 9; ++i) {
        const int pixel = 16 * n + 4 * (window / 2 + i / 3) + window % 2 + i % 3;
        sum += random.Uniform(0, static_cast<uint64_t>(pixel)) * 3 - 1;
      }
      largest = std::max(largest, sum);
    }
    EXPECT_NEAR(o.top[static_cast<size_t>(n)], largest, 1e-5) << n;
  }
}

TEST(ConvolutionPooling, LeavesApartWhatWouldLeaveLanesEmpty) {
  NetCase c;
  c.layers = ConvText(6, "kernel_size: 3") + PoolText("c", "y", kHalf);
  for (int64_t batch : {int64_t{1}, int64_t{kImages / 2}, int64_t{kImages + 1}}) {
    c.shape = {batch, 3, 8, 8};
    ExpectChain(c, "");
  }
}

}  // namespace
}  // namespace doppio

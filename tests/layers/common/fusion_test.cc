#include "tests/layers/common/fusion_case.h"

namespace doppio {
namespace {

// ---- Text of layers from `bottom` to `top` -----------------------------------------------------

std::string Layer(const std::string& type, const std::string& bottom, const std::string& top,
                  const std::string& more = "") {
  return "layer { name: '" + type + " " + top + "' type: '" + type + "' bottom: '" + bottom +
         "' top: '" + top + "' " + more + " }\n";
}
std::string Norm(const std::string& bottom, const std::string& top, const std::string& more = "") {
  return Layer("BatchNorm", bottom, top, more);
}
constexpr char kNoBias1[] = "kernel_size: 1 bias_term: false";
constexpr char kNoBias3[] = "kernel_size: 3 pad: 1 bias_term: false";
constexpr char kFillers[] =
    "filler { type: 'uniform' min: -1 max: 2 } bias_filler { type: 'uniform' min: -1 max: 1 } ";
std::string Scale(const std::string& bottom, const std::string& top, bool bias = true,
                  const std::string& more = "") {
  return Layer(
      "Scale", bottom, top,
      "scale_param { " + std::string(kFillers) + (bias ? "bias_term: true" : "") + " } " + more);
}
std::string Sum(const std::string& a, const std::string& b, const std::string& top,
                const std::string& more = "") {
  return Layer("Eltwise", a + "' bottom: '" + b, top, more);
}
std::string Relu(const std::string& bottom, const std::string& top, const std::string& slope = "") {
  return Layer("ReLU", bottom, top,
               slope.empty() ? "" : "relu_param { negative_slope: " + slope + " }");
}
std::string Conv(const std::string& bottom, const std::string& top, int outputs,
                 const std::string& more = "kernel_size: 3 pad: 1", const std::string& field = "") {
  return Layer("Convolution", bottom, top,
               field + " convolution_param { num_output: " + std::to_string(outputs) + " " + more +
                   " weight_filler { type: 'xavier' } bias_filler { type: 'uniform' min: -1 } }");
}
std::string Dense(const std::string& bottom, const std::string& top) {
  return Layer("InnerProduct", bottom, top,
               "inner_product_param { num_output: 37 weight_filler { type: 'xavier' } "
               "bias_filler { type: 'uniform' min: -1 } }");
}

struct Chain {
  std::string name, layers;
};

std::vector<Chain> NormChains() {
  return {
      {"BatchNorm+Scale", Norm("x", "n") + Scale("n", "y")},
      {"BatchNorm+ReLU", Norm("x", "n") + Relu("n", "y", "0.25")},
      {"BatchNorm+Scale+ReLU", Norm("x", "n") + Scale("n", "n") + Relu("n", "y")},
      {"BatchNorm+Scale+ReLU", Norm("x", "n") + Scale("n", "s", false) + Relu("s", "y", "0.1")},
      {"BatchNorm+Scale+Eltwise", Norm("x", "n") + Scale("n", "s", false) + Sum("s", "other", "y")},
      {"BatchNorm+Scale+Eltwise+ReLU",
       Norm("x", "n") + Scale("n", "s") + Sum("other", "s", "z") + Relu("z", "y")},
      {"BatchNorm+Scale+Eltwise+ReLU", Norm("x", "n") + Scale("n", "s") + Sum("s", "other", "z") +
                                           Relu("z", "z", "0.5") + Layer("Power", "z", "y")},
  };
}

std::vector<Chain> ConvolutionChains(int channels) {
  return {
      {"Convolution+ReLU", Conv("x", "c", channels + 3) + Relu("c", "y")},
      {"Convolution+ReLU", Conv("x", "c", channels, "kernel_size: 1") + Relu("c", "y", "0.1")},
      {"Convolution+Eltwise", Conv("x", "c", channels) + Sum("c", "other", "y")},
      {"Convolution+Eltwise+ReLU",
       Conv("x", "c", channels) + Sum("other", "c", "z") + Relu("z", "y", "0.25")},
      {"InnerProduct+ReLU", Dense("x", "d") + Relu("d", "y")},
      {"InnerProduct+ReLU", Dense("x", "d") + Relu("d", "y", "0.1")},
  };
}

const std::vector<Shape> kShapes = {{3, 20, 5, 7}, {1, 16, 9, 1}, {2, 3, 6, 6}, {4, 50, 3, 2}};

// Expects the one fused chain `chain`. A sum after a convolution need not be fused for inference or
// for few channels, where oneDNN 3 may choose primitives that cannot add.
void ExpectTogether(const NetCase& c, const std::string& chain) {
  const std::vector<std::string> chains = ExpectSameNumbers(c);
  if (chain.find("Convolution+Eltwise") != 0 || (c.backward && c.shape[1] >= 16)) {
    EXPECT_EQ(chains, std::vector<std::string>{chain});
  }
}

// Runs the case in the TRAIN phase, and in the TEST phase with and without gradients.
void ExpectSameInAllPhases(NetCase c, const std::string& chain) {
  ExpectTogether(c, chain);
  c.phase = TEST;
  ExpectTogether(c, chain);
  c.backward = false;
  ExpectTogether(c, chain);
}

// ---- Tests -------------------------------------------------------------------------------------

TEST_ON_DEVICES(Fusion, OfNormalisationGivesTheSameNumbersInAnyLayout) {
  for (const Chain& chain : NormChains()) {
    for (const Shape& shape : kShapes) {
      for (int block : {0, 8, 16}) {
        NetCase c;
        c.layers = chain.layers;
        c.shape = shape;
        c.block = block;
        ExpectSameInAllPhases(c, chain.name);
      }
    }
  }
}

TEST_ON_DEVICES(Fusion, OfNormalisationGivesTheSameNumbersInDoubleAndOnVectors) {
  for (const Chain& chain : NormChains()) {
    NetCase c;
    c.layers = chain.layers;
    c.dtype = DType::kFloat64;
    ExpectSameInAllPhases(c, chain.name);
    c.shape = {5, 33};
    ExpectSameInAllPhases(c, chain.name);
    c.dtype = DType::kFloat32;
    ExpectSameInAllPhases(c, chain.name);
  }
}

TEST_ON_GPU(Fusion, OfNormalisationRunsIn16BitsAndChannelsLast) {
  const std::vector<Shape> shapes = {
      {1, 16, 9, 1}, {3, 19, 4, 3}, {40, 24, 3, 2}, {2, 5, 8, 8}, {5, 33}};
  const auto expect = [&](const std::string& layers, bool apart_too) {
    for (const Shape& shape : shapes) {
      NetCase c;
      c.layers = layers;
      c.shape = shape;
      ExpectSameIn16Bits(c, apart_too);
      c.phase = TEST;
      ExpectSameIn16Bits(c, apart_too);
    }
  };
  // A separate ReLU sees the sign of rounded numbers, so chains with ReLU are compared fused only.
  for (const Chain& chain : NormChains()) {
    if (chain.layers.find("Power") == std::string::npos)
      expect(chain.layers, chain.layers.find("ReLU") == std::string::npos);
  }
  expect(Norm("x", "y"), true);
  expect(Scale("x", "y"), true);
  expect(Layer("Bias", "x", "y", "bias_param { filler { type: 'uniform' min: -1 } }"), true);
  expect(Layer("PReLU", "x", "y"), true);
  expect(Layer("PReLU", "x", "y", "prelu_param { channel_shared: true }"), true);
}

TEST_ON_DEVICES(Fusion, OfConvolutionsAndProductsGivesTheSameNumbers) {
  for (const Shape& shape : kShapes) {
    for (const Chain& chain : ConvolutionChains(static_cast<int>(shape[1]))) {
      for (int block : {0, 16}) {
        NetCase c;
        c.layers = chain.layers;
        c.shape = shape;
        c.block = block;
        ExpectSameInAllPhases(c, chain.name);
        c.bottoms_learn = false;
        ExpectTogether(c, chain.name);
      }
    }
  }
}

TEST_ON_DEVICES(Fusion, TakesConvolutionsInGroupsWithStridesAndDilation) {
  for (const char* form :
       {"kernel_size: 3 group: 2", "kernel_size: 3 stride: 2 group: 20",
        "kernel_size: 2 dilation: 2", "kernel_h: 1 kernel_w: 3 bias_term: false"}) {
    NetCase c;
    c.layers = Conv("x", "c", 20, form) + Relu("c", "y");
    ExpectSame(c, {"Convolution+ReLU"});
  }
}

TEST_ON_DEVICES(Fusion, TakesForksDepthwiseLayers) {
  NetCase c;
  c.layers = Layer("DepthwiseConvolution", "x", "c",
                   "convolution_param { kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } }") +
             Relu("c", "y");
  ExpectSame(c, {"DepthwiseConvolution+ReLU"});
}

TEST_ON_DEVICES(Fusion, OfASumWithReluTakesAnyNumberOfBottoms) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    NetCase c;
    c.dtype = dtype;
    c.layers =
        Sum("x", "other", "z", "eltwise_param { coeff: 1 coeff: 1 }") + Relu("z", "y", "0.1");
    ExpectSameInAllPhases(c, "Eltwise+ReLU");
    c.layers = Sum("x", "other' bottom: 'x' bottom: 'x", "z") + Relu("z", "y");
    ExpectSameInAllPhases(c, "Eltwise+ReLU");
  }
}

TEST_ON_DEVICES(Fusion, LeavesApartWhatItWouldChange) {
  const std::string two = Norm("x", "n") + Scale("n", "s");
  const std::vector<std::string> none;
  const struct {
    std::string layers;
    std::vector<std::string> chains;
  } cases[] = {
      {two + Relu("s", "y", "-0.5"), {"BatchNorm+Scale"}},
      {two + Sum("s", "other", "y", "eltwise_param { coeff: 1 coeff: -1 }"), {"BatchNorm+Scale"}},
      {two + Sum("s", "other", "y", "eltwise_param { operation: PROD }"), {"BatchNorm+Scale"}},
      {two + Sum("s", "other' bottom: 'x", "y"), {"BatchNorm+Scale"}},
      {two + Sum("s", "s", "y"), {"BatchNorm+Scale"}},
      {two + Sum("s", "n", "y"), none},
      {Norm("x", "n") + Layer("Scale", "n' bottom: 'other", "y", "scale_param { axis: 0 }"), none},
      {Norm("x", "n") + Layer("Scale", "n", "y", "scale_param { axis: 2 }"), none},
      {Norm("x", "n") + Layer("Scale", "n", "y", "scale_param { num_axes: 2 }"), none},
      {Conv("x", "c", 20) + Relu("c", "y", "-0.5"), none},
      {Sum("x", "other", "z", "eltwise_param { operation: MAX }") + Relu("z", "y"), none},
      {Sum("x", "other", "z", "eltwise_param { coeff: 2 coeff: 1 }") + Relu("z", "y"), none},
  };
  for (const auto& apart : cases) {
    NetCase c;
    c.layers = apart.layers;
    ExpectSame(c, apart.chains);
  }
}

TEST_ON_DEVICES(Fusion, GoesByRunningStatisticsWhereTheLayerDoes) {
  NetCase c;
  const std::string global = "batch_norm_param { use_global_stats: true }";
  for (const std::string& sum : {std::string(), Sum("s", "other", "s")}) {
    c.layers = Norm("x", "n", global) + Scale("n", "s") + sum + Relu("s", "y");
    const std::string chain =
        "BatchNorm+Scale" + std::string(sum.empty() ? "" : "+Eltwise") + "+ReLU";
    ExpectSameInAllPhases(c, chain);
  }
}

TEST_ON_DEVICES(Fusion, KeepsFrozenParametersAsTheyAre) {
  NetCase c;
  const std::string frozen = "param { lr_mult: 0 } ", half = frozen + "param { lr_mult: 1 }";
  for (const std::string& param : {frozen + frozen, half}) {
    for (bool learn : {true, false}) {
      c.bottoms_learn = learn;
      c.layers =
          Norm("x", "n") + Scale("n", "s", true, param) + Sum("s", "other", "z") + Relu("z", "y");
      // If x needs no gradient, a convolution with weights that learn must precede the chain.
      if (!learn) c.layers = Conv("x", "x", 20, kNoBias1) + c.layers;
      ExpectSame(c, {"BatchNorm+Scale+Eltwise+ReLU"});
      c.layers = Conv("x", "c", 20, "kernel_size: 1", param) + Relu("c", "c") + Scale("c", "y");
      ExpectSame(c, {"Convolution+ReLU"});
    }
  }
}

// The gradient of a loss is filled once and read in every pass, so no layer may overwrite it.
TEST_ON_DEVICES(Fusion, TakesATopThatIsALoss) {
  const std::string weight = "loss_weight: 0.5";
  NetCase c;
  c.layers = Norm("x", "n") + Scale("n", "s") + Sum("s", "other", "z", weight) + Scale("x", "y");
  ExpectSame(c, {"BatchNorm+Scale+Eltwise"});
  c.layers = Norm("x", "n") + Scale("n", "s") + Sum("s", "other", "z") +
             Layer("ReLU", "z", "r", weight) + Scale("x", "y");
  ExpectSame(c, {"BatchNorm+Scale+Eltwise+ReLU"});
  c.layers = Conv("x", "c", 20) + Sum("c", "other", "z") + Layer("ReLU", "z", "r", weight) +
             Scale("x", "y");
  ExpectSame(c, {"Convolution+Eltwise+ReLU"});
  c.layers = Conv("x", "c", 20) + Sum("c", "other", "z", weight) + Scale("x", "y");
  ExpectSame(c, {"Convolution+Eltwise"});
  c.layers = Sum("x", "other", "z") + Layer("ReLU", "z", "r", weight) + Scale("x", "y");
  ExpectSame(c, {"Eltwise+ReLU"});
}

// As in a ResNet, a block's input is read by its first convolution and by its sum.
TEST_ON_DEVICES(Fusion, TrainsResidualBlocks) {
  auto block = [](const std::string& from, const std::string& to) {
    return Conv(from, to + "a", 20, kNoBias3) + Norm(to + "a", to + "a") +
           Scale(to + "a", to + "a") + Relu(to + "a", to + "a") +
           Conv(to + "a", to + "b", 20, kNoBias1) + Norm(to + "b", to + "b") +
           Scale(to + "b", to + "b") + Sum(from, to + "b", to) + Relu(to, to);
  };
  const std::vector<std::string> chains = {"BatchNorm+Scale+ReLU", "BatchNorm+Scale+Eltwise+ReLU"};
  std::vector<std::string> twice = chains;
  twice.insert(twice.end(), chains.begin(), chains.end());
  for (int size : {16, 0}) {
    NetCase c;
    c.block = size;
    c.layers = block("x", "y");
    ExpectSame(c, chains);
    c.layers = block("x", "m") + block("m", "y");
    ExpectSame(c, twice);
    c.phase = TEST;
    ExpectSame(c, twice);
  }
  // The same without normalisation, and with a projection on the other side.
  NetCase c;
  c.layers = Conv("x", "p", 20, "kernel_size: 1") + Conv("x", "a", 20) + Relu("a", "a") +
             Conv("a", "b", 20) + Sum("p", "b", "m") + Relu("m", "m") + Conv("m", "c", 20) +
             Sum("c", "m", "y");
  ExpectSame(c, {"Convolution+ReLU", "Convolution+Eltwise+ReLU", "Convolution+Eltwise"});
}

}  // namespace
}  // namespace doppio

// Tests memory and layouts: a plan that shares memory must compute the same numbers as one that
// does not.
#include "core/net/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/math/dnnl.h"
#include "core/net/run/net.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

struct Built {
  std::unique_ptr<Device> device = MakeCpuDevice();
  std::unique_ptr<ParamStore> store;
  std::unique_ptr<Net> net;
  double loss = 0;
  std::vector<float> gradients;
};

Built Train(const std::string& text, bool keep_all, const std::string& engine = "",
            int passes = 2) {
  Built built;
  PlanOptions options;
  options.device = built.device.get();
  options.backward = true;
  options.keep_all = keep_all;
  options.engine = engine;
  built.store = std::make_unique<ParamStore>(built.device.get(), DType::kFloat32, 5);
  built.net = std::make_unique<Net>(GraphFromText(text), options, built.store.get());
  const std::vector<Tensor>& inputs = built.net->plan().tensors[0].tops;
  const doppio::Random random(1, 2);
  for (int64_t i = 0; i < inputs[0].count(); ++i) {
    inputs[0].data<float>()[i] = random.Normal(0, static_cast<uint64_t>(i));
  }
  for (int64_t i = 0; i < inputs[1].count(); ++i) {
    inputs[1].data<float>()[i] = static_cast<float>(random.Below(3, 1, static_cast<uint64_t>(i)));
  }
  // Runs several passes, so that leftovers of the first pass in the arena would show.
  for (int pass = 0; pass < passes; ++pass) {
    built.loss = built.net->Forward();
    built.net->Backward(false);
  }
  for (const Param& param : built.store->params()) {
    if (!param.gradient && !param.grad) continue;
    std::vector<float> plain(static_cast<size_t>(param.shape.count()));
    CopyTensor(param.grad, Tensor({param.shape, DType::kFloat32, Layout()}, plain.data()));
    built.gradients.insert(built.gradients.end(), plain.begin(), plain.end());
  }
  return built;
}

// Returns the engine of a layer's kernel; "" if the kernel of an earlier layer computes the layer.
std::string EngineOf(const Net& net, const std::string& layer) {
  for (size_t n = 0; n < net.plan().kernel_types.size(); ++n) {
    const KernelType* type = net.plan().kernel_types[n];
    if (net.graph().layer(static_cast<int>(n)).name() == layer)
      return type == nullptr ? "" : type->engine;
  }
  return "no such layer";
}

void ExpectSame(const std::string& text) {
  const Built kept = Train(text, true, "reference"), planned = Train(text, false, "reference");
  EXPECT_EQ(kept.loss, planned.loss);
  ASSERT_EQ(kept.gradients.size(), planned.gradients.size());
  for (size_t i = 0; i < kept.gradients.size(); ++i) {
    ASSERT_EQ(kept.gradients[i], planned.gradients[i]) << i;
  }
  EXPECT_LT(planned.net->plan().memory.activations, kept.net->plan().memory.activations);
  const Built fast = Train(text, false);
  EXPECT_NEAR(fast.loss, kept.loss, 1e-4 * std::max(1.0, kept.loss));
  float largest = 0;
  for (float g : kept.gradients) largest = std::max(largest, std::fabs(g));
  for (size_t i = 0; i < kept.gradients.size(); ++i) {
    ASSERT_NEAR(kept.gradients[i], fast.gradients[i], 1e-4 * largest) << i;
  }
}

constexpr char kInput[] =
    "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y'\n"
    "  input_param { shape { dim: 2 dim: 3 dim: 9 dim: 9 } shape { dim: 2 } } }\n";

std::string Layer(const std::string& name, const std::string& type, const std::string& bottom,
                  const std::string& top, const std::string& more = "") {
  return "layer { name: '" + name + "' type: '" + type + "' bottom: '" + bottom + "' top: '" + top +
         "' " + more + " }\n";
}

std::string Conv(const std::string& name, const std::string& bottom, int outputs) {
  return Layer(name, "Convolution", bottom, name,
               "convolution_param { num_output: " + std::to_string(outputs) +
                   " kernel_size: 3 pad: 1 weight_filler { type: 'xavier' }"
                   " bias_filler { type: 'uniform' min: -0.1 max: 0.1 } }");
}

std::string Classifier(const std::string& bottom) {
  return Layer("ip", "InnerProduct", bottom, "ip",
               "inner_product_param { num_output: 3 weight_filler { type: 'xavier' } }") +
         "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'y' top: 'loss' }\n";
}

TEST(Plan, KeepsTheNumbersOfInPlaceChains) {
  // As in AlexNet's fc6: ReLU's backward needs its top, which Dropout would overwrite.
  ExpectSame(kInput + Conv("c1", "x", 17) + Layer("r1", "ReLU", "c1", "c1") +
             Layer("d1", "Dropout", "c1", "c1") + Conv("c2", "c1", 5) +
             Layer("s2", "Sigmoid", "c2", "c2") + Layer("t2", "TanH", "c2", "c2") +
             Classifier("c2"));
}

TEST(Plan, KeepsTheNumbersOfBranches) {
  ExpectSame(
      kInput + Conv("c1", "x", 8) + Layer("r1", "ReLU", "c1", "r1") + Conv("a", "r1", 8) +
      Conv("b", "r1", 8) +
      "layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' bottom: 'r1' top: 'sum' }\n" +
      Layer("r2", "ReLU", "sum", "sum") +
      "layer { name: 'cat' type: 'Concat' bottom: 'sum' bottom: 'r1' bottom: 'b' top: 'cat' }\n" +
      Layer("p", "Pooling", "cat", "p", "pooling_param { kernel_size: 3 stride: 2 }") +
      Classifier("p"));
}

TEST(Plan, KeepsTheNumbersOfViewsAndSharedParameters) {
  ExpectSame(kInput + Conv("c1", "x", 3) +
             "layer { name: 'c2' type: 'Convolution' bottom: 'c1' top: 'c2' param { name: 'w' }"
             " convolution_param { num_output: 3 kernel_size: 3 pad: 1 weight_filler { type: "
             "'xavier' } } }\n"
             "layer { name: 'c3' type: 'Convolution' bottom: 'c2' top: 'c3' param { name: 'w' }"
             " convolution_param { num_output: 3 kernel_size: 3 pad: 1 weight_filler { type: "
             "'xavier' } } }\n"
             "layer { name: 'split' type: 'Split' bottom: 'c3' top: 's1' top: 's2' }\n" +
             Layer("f1", "Flatten", "s1", "f1") +
             Layer("f2", "Reshape", "s2", "f2", "reshape_param { shape { dim: 0 dim: -1 } }") +
             Layer("sq", "Power", "f1", "sq", "power_param { power: 2 }") +
             "layer { name: 'sum' type: 'Eltwise' bottom: 'sq' bottom: 'f2' top: 'sum' }\n" +
             Classifier("sum"));
}

// The later layers cannot read the weights in the layout of the first ones: their inputs are flat,
// transposed, or in groups.
TEST(Plan, KeepsTheNumbersOfWeightsThatDifferentLayersShare) {
  const std::string shared = "param { name: 'w' } inner_product_param { bias_term: false ",
                    filler = "weight_filler { type: 'xavier' } } ";
  ExpectSame(
      kInput + Conv("c1", "x", 16) +
      Layer("code", "InnerProduct", "c1", "code", shared + "num_output: 32 " + filler) +
      Layer("decoded", "InnerProduct", "code", "decoded",
            shared + "num_output: 1296 transpose: true " + filler) +
      Layer("again", "InnerProduct", "decoded", "again", shared + "num_output: 32 " + filler) +
      Classifier("again"));
  const auto conv = [](const std::string& name, const std::string& bottom, int outputs,
                       int groups) {
    return Layer(name, "Convolution", bottom, name,
                 "param { name: 'w' } convolution_param { bias_term: false kernel_size: 3 pad: 1"
                 " weight_filler { type: 'xavier' } num_output: " +
                     std::to_string(outputs) + " group: " + std::to_string(groups) + " }");
  };
  ExpectSame(kInput + Conv("c1", "x", 16) + conv("c2", "c1", 32, 1) + conv("c3", "c2", 32, 2) +
             Classifier("c3"));
}

// ShuffleNet without a layer for it: the channels are two axes, exchanged by Permute.
TEST(Plan, KeepsTheNumbersOfChannelsThatPermuteShuffles) {
  const std::string groups = "reshape_param { shape { dim: 0 dim: 4 dim: 4 dim: 9 dim: 9 } }";
  ExpectSame(kInput + Conv("c1", "x", 16) + Layer("r1", "Reshape", "c1", "r1", groups) +
             Layer("p", "Permute", "r1", "p",
                   "permute_param { order: 0 order: 2 order: 1 order: 3 order: 4 }") +
             Layer("r2", "Reshape", "p", "r2",
                   "reshape_param { shape { dim: 0 dim: 16 dim: 9 dim: 9 } }") +
             Conv("c2", "r2", 16) + Classifier("c2"));
}

TEST(Plan, KeepsTheNumbersOfConvolutionsThatReadOneBlobInTwoShapes) {
  const auto shaped = [](const std::string& name, const std::string& dims) {
    return Layer(name, "Reshape", "product", name, "reshape_param { shape { " + dims + " } }");
  };
  ExpectSame(kInput +
             Layer("product", "InnerProduct", "x", "product",
                   "inner_product_param { num_output: 256 weight_filler { type: 'xavier' } }") +
             shaped("tall", "dim: 0 dim: 16 dim: 8 dim: 2") +
             shaped("wide", "dim: 0 dim: 16 dim: 2 dim: 8") + Conv("c1", "tall", 16) +
             Conv("c2", "wide", 16) + Layer("f1", "Flatten", "c1", "f1") +
             Layer("f2", "Flatten", "c2", "f2") +
             "layer { name: 'sum' type: 'Eltwise' bottom: 'f1' bottom: 'f2' top: 'sum' }\n" +
             Classifier("sum"));
}

TEST(Plan, KeepsTheNumbersOfLossesOnTheWay) {
  ExpectSame(kInput + Conv("c1", "x", 4) + Layer("a", "AbsVal", "c1", "a", "loss_weight: 0.01") +
             Conv("c2", "a", 4) + Classifier("c2"));
}

TEST(Plan, PrefersTheKernelsOfAnEngine) {
  const std::string text =
      kInput + Conv("conv", "x", 8) + Layer("a", "Sigmoid", "conv", "a") +
      Layer("b", "AbsVal", "conv", "b") +
      "layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'sum' }\n" +
      Layer("relu", "ReLU", "sum", "sum") + Layer("tanh", "TanH", "sum", "tanh") +
      Classifier("tanh");
  const auto engines = [&](const std::string& engine) {
    const Built built = Train(text, false, engine);
    std::vector<std::string> found;
    for (const char* layer : {"conv", "sum", "relu", "tanh"})
      found.push_back(EngineOf(*built.net, layer));
    return found;
  };
  using Engines = std::vector<std::string>;
  const Engines usual = {"onednn", "fused", "", "reference"};
  EXPECT_EQ(engines(""), usual);
  EXPECT_EQ(engines("onednn"), usual);
  EXPECT_EQ(engines("fused"), usual);
  EXPECT_EQ(engines("reference"), (Engines{"reference", "reference", "reference", "reference"}));
}

TEST(Plan, HasTheChoicesOfEachLayer) {
  // c1 has 3 channels, which fill no vector; r1 joins it in a chain.
  const Built built = Train(kInput + Conv("c1", "x", 16) + Layer("r1", "ReLU", "c1", "c1") +
                                Layer("t1", "TanH", "c1", "t1") + Classifier("t1"),
                            false);
  const Net& net = *built.net;
  const auto rows = [&](const std::string& layer, size_t choice) {
    std::vector<std::string> names;
    for (size_t n = 0; n < net.graph().nodes.size(); ++n) {
      if (net.graph().layer(static_cast<int>(n)).name() != layer) continue;
      if (choice >= net.plan().choices[n].size()) break;
      for (const auto& row : net.plan().choices[n][choice].rows) names.push_back(row.name);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  const std::string chain = " for Convolution+ReLU";
  EXPECT_EQ(rows("c1", 0),
            (Names{"winograd" + chain, "onednn" + chain, "winograd", "onednn", "reference"}));
  ASSERT_FALSE(rows("c1", 1).empty());
  EXPECT_EQ(rows("c1", 1)[0], "oneDNN's layouts");
  EXPECT_EQ(rows("r1", 0), Names{});
  EXPECT_EQ(rows("t1", 0), Names{"reference"});
  for (size_t n = 0; n < net.graph().nodes.size(); ++n) {
    const KernelType* type = net.plan().kernel_types[n];
    if (type == nullptr) continue;
    const CandidateChoice& choice = net.plan().choices[n].at(0);
    EXPECT_EQ(choice.what, "kernel");
    ASSERT_GE(choice.chosen, 0);
    EXPECT_EQ(choice.rows[choice.chosen].name.find(type->engine), 0u);
  }
}

TEST(Plan, SaysWhichInPlaceWritesGotTheirOwnMemory) {
  const Built built =
      Train(kInput + Conv("c1", "x", 4) + Layer("s", "Sigmoid", "c1", "c1") +
                Layer("p", "Power", "c1", "c1", "power_param { power: 2 }") + Classifier("c1"),
            false, "reference");
  ASSERT_EQ(built.net->plan().notes.size(), 1u);
  EXPECT_NE(built.net->plan().notes[0].find("layer 'p' works in place"), std::string::npos);
}

TEST(Plan, SaysNothingOfInPlaceLayersWhoseOwnBackwardNeedsTheValue) {
  const Built built =
      Train(kInput + Conv("c1", "x", 4) + Layer("b", "BatchNorm", "c1", "c1") +
                Layer("s", "Scale", "c1", "c1") + Layer("r", "ReLU", "c1", "c1") + Classifier("c1"),
            false, "");
  EXPECT_TRUE(built.net->plan().notes.empty()) << built.net->plan().notes[0];
}

TEST(Plan, OrdersTheArenaByWhenBackwardFinishes) {
  const Built built =
      Train(kInput + Conv("c1", "x", 4) + Conv("c2", "c1", 4) + Classifier("c2"), false);
  const std::vector<Param>& params = built.store->params();
  ASSERT_EQ(params.size(), 6u);  // in Caffe's order: c1, c2, ip
  EXPECT_LT(params[4].offset, params[2].offset);
  EXPECT_LT(params[2].offset, params[0].offset);
  EXPECT_LT(params[0].offset, params[1].offset) << "weight before bias";
  for (const Param& param : params) EXPECT_EQ(param.offset % 64, 0);
  std::vector<int> ready;
  for (const PlanStep& step : built.net->plan().backward) {
    ready.insert(ready.end(), step.ready.begin(), step.ready.end());
  }
  EXPECT_EQ(ready, (std::vector<int>{4, 5, 2, 3, 0, 1}));
}

// Trying each part of the chain as one kernel would take minutes.
TEST(Plan, IsMadeInTimeForALongChain) {
  std::string text = kInput, last = "x";
  for (int i = 0; i < 1500; ++i) {
    const std::string name = "r" + std::to_string(i);
    text += Layer(name, "ReLU", last, name);
    last = name;
  }
  EXPECT_FALSE(Train(text + Classifier(last), false).gradients.empty());
}

TEST(Plan, AccumulatesGradientsOverPasses) {
  const std::string text = kInput + Conv("c1", "x", 4) + Classifier("c1");
  Built once = Train(text, false);
  Built twice = Train(text, false);
  twice.net->Forward();
  twice.net->Backward(true);
  for (const Param& param : twice.store->params()) {
    const Param& single = once.store->param(static_cast<int>(&param - &twice.store->params()[0]));
    for (int64_t i = 0; i < param.grad.stored(); ++i) {
      ASSERT_NEAR(param.grad.data<float>()[i], 2 * single.grad.data<float>()[i], 1e-5);
    }
  }
}

}  // namespace
}  // namespace doppio

// Tests the storage types of edges, and nets that compute with them.
#include "core/net/graph/storage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/net/run/net.h"
#include "core/net/spec/prototxt.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

constexpr char kStorageInput[] =
    "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y'\n"
    "  input_param { shape { dim: 4 dim: 3 } shape { dim: 4 } } }\n";

constexpr char kNet[] =
    "layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' inner_product_param { num_output: "
    "500\n"
    "  weight_filler { type: 'gaussian' std: 0.5 } } }\n"
    "layer { name: 'relu' type: 'ReLU' bottom: 'a' top: 'a' }\n"
    "layer { name: 'flat' type: 'Flatten' bottom: 'a' top: 'flat' }\n"
    "layer { name: 'b' type: 'InnerProduct' bottom: 'flat' top: 'b' FORWARD inner_product_param { "
    "num_output: 4\n"
    "  weight_filler { type: 'gaussian' std: 0.05 } } }\n"
    "layer { name: 'labels' type: 'Reshape' bottom: 'y' top: 'labels' reshape_param { shape { dim: "
    "4 } } }\n"
    "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'b' bottom: 'labels' top: 'loss' }\n"
    "layer { name: 'accuracy' type: 'Accuracy' bottom: 'b' bottom: 'labels' top: 'accuracy' }\n";

std::string NetText(const std::string& forward_type_of_b, const std::string& head = "") {
  std::string text = kNet;
  text.replace(text.find("FORWARD"), 7, forward_type_of_b);
  return head + kStorageInput + text;
}

DType Stored(const Graph& graph, const std::string& blob) {
  return graph.edges[static_cast<size_t>(graph.FindEdge(blob))].stored;
}

TEST(Storage, KeepsLossesLabelsAndScoresExact) {
  const Graph graph = GraphFromText(NetText(""), TRAIN, DType::kBFloat16);
  for (const char* blob : {"a", "flat", "b"})
    EXPECT_EQ(Stored(graph, blob), DType::kBFloat16) << blob;
  for (const char* blob : {"x", "y", "labels", "loss", "accuracy"}) {
    EXPECT_EQ(Stored(graph, blob), DType::kFloat32) << blob;
  }
  EXPECT_EQ(StorageOf(graph), DType::kBFloat16);
}

TEST(Storage, KeepsValuesExactOfWhichAViewAddsToTheLoss) {
  const std::string view =
      "layer { name: 'wide' type: 'Reshape' bottom: 'flat' top: 'wide' loss_weight: 0.1\n"
      "  reshape_param { shape { dim: -1 } } }\n";
  const Graph graph = GraphFromText(NetText("") + view, TRAIN, DType::kBFloat16);
  for (const char* blob : {"a", "flat", "wide"})
    EXPECT_EQ(Stored(graph, blob), DType::kFloat32) << blob;
  EXPECT_EQ(Stored(graph, "b"), DType::kBFloat16);
}

TEST(Storage, KeepsLabelsExactThatOnlyTakeAShapeFromActivations) {
  const std::string crop =
      "layer { name: 'crop' type: 'Crop' bottom: 'y' bottom: 'flat' top: 'crop' crop_param { axis: "
      "0 } }\n"
      "layer { name: 'other' type: 'Crop' bottom: 'flat' bottom: 'x' top: 'other' crop_param { "
      "axis: 1 } }\n";
  const Graph graph = GraphFromText(NetText("") + crop, TRAIN, DType::kBFloat16);
  EXPECT_EQ(Stored(graph, "crop"), DType::kFloat32);
  EXPECT_EQ(Stored(graph, "other"), DType::kBFloat16);
}

TEST(Storage, IsWhatTheFileSaysUnlessTheRunAsksForAnother) {
  const auto graph = [](const std::string& text, std::optional<DType> asked) {
    return GraphFromText(text, TRAIN, asked);
  };
  const std::string file = NetText("forward_type: FLOAT", "default_forward_type: FLOAT16\n");
  EXPECT_EQ(Stored(graph(file, std::nullopt), "a"), DType::kFloat16);
  EXPECT_EQ(Stored(graph(file, std::nullopt), "b"), DType::kFloat32);
  EXPECT_EQ(Stored(graph(file, DType::kBFloat16), "a"), DType::kBFloat16);
  EXPECT_EQ(Stored(graph(file, DType::kBFloat16), "b"), DType::kFloat32);
  EXPECT_EQ(StorageOf(graph(file, DType::kFloat32)), DType::kFloat32);
  const std::string layer = NetText("forward_type: FLOAT16");
  EXPECT_EQ(Stored(graph(layer, std::nullopt), "a"), DType::kFloat32);
  EXPECT_EQ(Stored(graph(layer, std::nullopt), "b"), DType::kFloat16);
  EXPECT_EQ(Stored(graph(layer, DType::kBFloat16), "b"), DType::kBFloat16);
  EXPECT_EQ(Stored(graph(layer, DType::kFloat32), "b"), DType::kFloat32);
}

TEST(Storage, AskedForIsTheNarrowestRange) {
  const auto asked = [](const std::string& text, std::optional<DType> run) {
    NetParameter net;
    ParseText(text, "net.prototxt", &net);
    return RequestedStorage(net, run);
  };
  EXPECT_EQ(asked("name: 'n'", std::nullopt), DType::kFloat32);
  EXPECT_EQ(asked("layer { forward_type: BFLOAT16 }", std::nullopt), DType::kBFloat16);
  EXPECT_EQ(asked("layer { forward_type: FLOAT16 } layer { forward_type: BFLOAT16 }", std::nullopt),
            DType::kFloat16);
  EXPECT_EQ(asked("default_forward_type: FLOAT16 layer { forward_type: FLOAT }", std::nullopt),
            DType::kFloat16);
  EXPECT_EQ(asked("default_forward_type: FLOAT16", DType::kFloat32), DType::kFloat32);
}

// A net with filled inputs, after one forward and backward pass.
struct Trained {
  explicit Trained(DType stored) : device(TestDevice()) {
    PlanOptions options;
    options.device = device.get();
    options.backward = true;
    store = std::make_unique<ParamStore>(device.get(), DType::kFloat32, 5);
    net = std::make_unique<Net>(GraphFromText(NetText(""), TRAIN, stored), options, store.get());
    const std::vector<float> x = {1, -2, 0.5f, 0.25f, 3, -1, 0, 1, 2, -0.5f, 1.5f, -3},
                             y = {0, 3, 1, 2};
    device->CopyFromHost(net->Blob("x").raw, x.data(), 48);
    device->CopyFromHost(net->Blob("y").raw, y.data(), 16);
    loss = net->Forward();
    net->Backward(false);
    gradients.resize(static_cast<size_t>(store->arenas().grads().count()));
    device->CopyToHost(gradients.data(), store->arenas().grads().raw,
                       store->arenas().grads().bytes());
  }
  std::unique_ptr<Device> device;
  std::unique_ptr<ParamStore> store;
  std::unique_ptr<Net> net;
  double loss = 0;
  std::vector<float> gradients;
};

TEST_ON_DEVICES(Storage, RoundsWhatLayersHandOnAndNothingElse) {
  // Another device may store the parameters in another layout.
  const Trained exact(DType::kFloat32);
  for (DType type : {DType::kBFloat16, DType::kFloat16}) {
    const Trained narrow(type);
    const double step = type == DType::kFloat16 ? 0x1p-11 : 0x1p-8;
    EXPECT_NEAR(narrow.loss, exact.loss, 4 * step);
    EXPECT_NE(narrow.loss, exact.loss) << "nothing was rounded";
    double largest = 0, difference = 0;
    for (size_t i = 0; i < exact.gradients.size(); ++i) {
      largest = std::max<double>(largest, std::fabs(exact.gradients[i]));
      difference =
          std::max<double>(difference, std::fabs(exact.gradients[i] - narrow.gradients[i]));
    }
    EXPECT_LT(difference, 8 * step * largest);
    EXPECT_EQ(narrow.net->outputs()[0].value.dtype, DType::kFloat32);
    EXPECT_EQ(narrow.store->arenas().values().dtype, DType::kFloat32);
    // Tensors in 16 bits take half the memory, for activations and gradients. A GPU also keeps
    // 16-bit copies of the parameters, so its memory is not compared.
    if (!OnGpu()) {
      EXPECT_LT(narrow.net->plan().memory.activations,
                exact.net->plan().memory.activations * 3 / 4);
    }
  }
}

}  // namespace
}  // namespace doppio

// Tests the ONNX graph that `export` makes of nets with hand-made weights, and the file's contents.
// onnx_opencv_test.cc and, with ONNX Runtime, tests/scenarios/export/onnx_test.py test that other
// programs compute the same.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/base/file.h"
#include "tests/testing/mistake.h"
#include "tools/nets/deploy_net.h"
#include "tools/onnx/onnx_layer.h"
#include "tools/onnx/write_onnx.h"

namespace doppio {
namespace {

// A net in which each parameter has the values 1, 2, 3, ...
struct CountedNet {
  explicit CountedNet(const std::string& text) {
    NetParameter net;
    const FieldPlaces places = ParseText(text, "net.prototxt", &net);
    NetSpec spec = MakeNetSpec(net, places, net.state(), NetOptions());
    ReplaceLosses(&spec);
    graph = MakeGraph(std::move(spec));
    for (const GraphParam& param : graph.params) {
      values.emplace_back();
      for (int64_t i = 1; i <= param.shape.count(); ++i)
        values.back().push_back(static_cast<float>(i));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      weights.values.emplace_back(TensorSpec{graph.params[i].shape, DType::kFloat32, Layout()},
                                  values[i].data());
    }
  }

  Graph graph;
  std::vector<std::vector<float>> values;
  WeightTensors weights;
};

class Exported {
 public:
  explicit Exported(const std::string& text, const OnnxOptions& options = OnnxOptions())
      : net_(text) {
    const std::vector<bool> batch(net_.graph.edges.size());
    content = MakeOnnx(net_.graph, net_.weights, batch, options);
  }

  std::string Operations() const {
    std::string names;
    for (const onnx::NodeProto& node : content.graph.node()) {
      names += (names.empty() ? "" : " ") + node.op_type();
    }
    return names;
  }
  // Returns the constant that a node reads.
  std::vector<float> Floats(int node, int input) const {
    for (const OnnxConstant& constant : content.constants) {
      if (constant.name != content.graph.node(node).input(input)) continue;
      return std::vector<float>(constant.data(), constant.data() + constant.shape.count());
    }
    return {};
  }
  OnnxContent content;

 private:
  CountedNet net_;
};

const std::string kInput =
    "name: 'n' layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 dim: 1 "
    "dim: 1 } } }\n";
const std::string kConvolution =
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 2 "
    "kernel_size: 1 } }\n";
const std::string kNorm =
    "layer { name: 'b' type: 'BatchNorm' bottom: 'c' top: 'c' batch_norm_param { eps: 3 } }\n"
    "layer { name: 's' type: 'Scale' bottom: 'c' top: 'c' scale_param { bias_term: true } }\n";

TEST(Onnx, KeepsScaleInTheNodeOfItsBatchNorm) {
  const Exported net(kInput + kConvolution + kNorm);
  EXPECT_EQ(net.Operations(), "Conv BatchNormalization");
  ASSERT_EQ(net.content.graph.node(1).input_size(), 5);
  // The weight of BatchNorm's sums is 1, so mean and variance are 1, 2; scale and shift are those
  // of Scale.
  for (int input = 1; input <= 4; ++input)
    EXPECT_EQ(net.Floats(1, input), (std::vector<float>{1, 2}));
  EXPECT_EQ(net.content.graph.node(1).output(0), "c");
  EXPECT_NE(net.content.graph.node(0).output(0), "c");
}

TEST(Onnx, FoldsNormsIntoTheConvolution) {
  OnnxOptions options;
  options.fold_bn = true;
  const Exported net(kInput + kConvolution + kNorm, options);
  EXPECT_EQ(net.Operations(), "Conv");
  // The factors are scale / sqrt(variance + eps): 1 / 2 and 2 / sqrt(5). The weights were 1, 2 and
  // 3, 4, and the bias 1, 2.
  const float second = 2 / std::sqrt(5.0f);
  const std::vector<float> weights = net.Floats(0, 1), bias = net.Floats(0, 2);
  ASSERT_EQ(weights.size(), 4u);
  ASSERT_EQ(bias.size(), 2u);
  EXPECT_FLOAT_EQ(weights[0], 0.5f);
  EXPECT_FLOAT_EQ(weights[1], 1);
  EXPECT_FLOAT_EQ(weights[2], 3 * second);
  EXPECT_FLOAT_EQ(weights[3], 4 * second);
  // (bias - mean) * factor + shift, where bias and mean are equal.
  EXPECT_FLOAT_EQ(bias[0], 1);
  EXPECT_FLOAT_EQ(bias[1], 2);
}

TEST(Onnx, FoldsNothingThatAnotherLayerReads) {
  OnnxOptions options;
  options.fold_bn = true;
  const std::string norm = "layer { name: 'b' type: 'BatchNorm' bottom: 'c' top: 'y' }\n";
  EXPECT_EQ(Exported(kInput + kConvolution + norm, options).Operations(), "Conv");
  const std::string other = "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'z' }\n";
  EXPECT_EQ(Exported(kInput + kConvolution + norm + other, options).Operations(),
            "Conv BatchNormalization Relu");
}

TEST(Onnx, EndsWhereTheLossBegan) {
  const Exported net(
      kInput +
      "layer { name: 'l' type: 'Input' top: 'l' input_param { shape { dim: 1 } } }\n"
      "layer { name: 'f' type: 'Flatten' bottom: 'x' top: 'f' }\n"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'f' bottom: 'l' top: 'loss' }\n"
      "layer { name: 'a' type: 'Accuracy' bottom: 'f' bottom: 'l' top: 'a' }\n");
  EXPECT_EQ(net.Operations(), "Reshape Softmax");
  ASSERT_EQ(net.content.graph.input_size(), 1);
  EXPECT_EQ(net.content.graph.input(0).name(), "x");
  ASSERT_EQ(net.content.graph.output_size(), 1);
  EXPECT_EQ(net.content.graph.output(0).name(), "prob");
}

TEST(Onnx, LeavesMixupOut) {
  const Exported net(
      kInput +
      "layer { name: 'l' type: 'Input' top: 'l' input_param { shape { dim: 1 } } }\n"
      "layer { name: 'm' type: 'Mixup' bottom: 'x' bottom: 'l' top: 'm' top: 's' mixup_param { "
      "classes: 2 } }\n"
      "layer { name: 'f' type: 'Flatten' bottom: 'm' top: 'f' }\n"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'f' bottom: 's' top: 'loss' }\n");
  EXPECT_EQ(net.Operations(), "Reshape Softmax");
  ASSERT_EQ(net.content.graph.input_size(), 1);
  EXPECT_EQ(net.content.graph.input(0).name(), "x");
}

TEST(Onnx, NamesAllLayersThatItHasNot) {
  const std::string layers =
      "layer { name: 'i' type: 'Im2col' bottom: 'x' top: 'i' convolution_param { kernel_size: 1 } "
      "}\n"
      "layer { name: 'j' type: 'Im2col' bottom: 'i' top: 'j' convolution_param { kernel_size: 1 } "
      "}\n";
  EXPECT_EQ(Mistake<ErrorList>([&] { const Exported net(kInput + layers); }),
            "net.prototxt:2:19: layer 'i': Im2col has no form in ONNX\n"
            "net.prototxt:3:19: layer 'j': Im2col has no form in ONNX");
}

TEST(Onnx, IsWrittenWithItsWeightsInsideOrBeside) {
  const Exported net(kInput + kConvolution);
  const std::string path = std::string(::testing::TempDir()) + "/net.onnx";
  EXPECT_FALSE(WriteOnnx(path, net.content, {{"key", "value"}}, false));
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(ReadFile(path)));
  EXPECT_EQ(model.ir_version(), 8);
  ASSERT_EQ(model.opset_import_size(), 1);
  EXPECT_EQ(model.opset_import(0).version(), 13);
  EXPECT_EQ(model.metadata_props(0).value(), "value");
  ASSERT_EQ(model.graph().node_size(), 1);
  ASSERT_EQ(model.graph().initializer_size(), 2);
  const onnx::TensorProto& weights = model.graph().initializer(1);
  EXPECT_EQ(weights.name(), "c.weight");
  EXPECT_EQ(weights.dims_size(), 4);
  EXPECT_EQ(weights.data_type(), onnx::TensorProto::FLOAT);
  ASSERT_EQ(weights.raw_data().size(), 4 * sizeof(float));
  float last = 0;
  std::memcpy(&last, weights.raw_data().data() + 3 * sizeof(float), sizeof(float));
  EXPECT_EQ(last, 4);

  const Exported large(kInput +
                       "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' "
                       "convolution_param { num_output: 128 kernel_size: 1 } }\n");
  EXPECT_TRUE(WriteOnnx(path, large.content, {}, true));
  EXPECT_EQ(FileBytes(path + ".data"),
            128 * 2 * 4);  // the bias is too small to be stored in this file
  ASSERT_TRUE(model.ParseFromString(ReadFile(path)));
  const onnx::TensorProto& outside = model.graph().initializer(1);
  EXPECT_EQ(outside.data_location(), onnx::TensorProto::EXTERNAL);
  EXPECT_FALSE(outside.has_raw_data());
  ASSERT_EQ(outside.external_data_size(), 3);
  EXPECT_EQ(outside.external_data(0).value(), "net.onnx.data");
  EXPECT_EQ(outside.external_data(2).value(), "1024");
}

// Returns the constant `name` of a graph that returns it as `edge`.
OnnxConstant ConstantOf(OnnxGraph* graph, const std::string& name, int edge) {
  graph->Tie(edge, graph->Add(1, "Identity", {name}, {}, 1)[0]);
  OnnxContent content = graph->Finish({edge}, std::vector<bool>(graph->net().edges.size()));
  return content.constants.at(0);
}

TEST(OnnxParams, AddsAParameterInItsStoredShapeOnce) {
  const CountedNet net(kInput + kConvolution);
  OnnxGraph graph(net.graph, net.weights);
  const OnnxParams params(&graph, 1);
  EXPECT_EQ(params.count(), 2);
  EXPECT_EQ(params.shape(0), Shape({2, 2, 1, 1}));
  EXPECT_EQ(params.Values(1), (std::vector<double>{1, 2}));
  EXPECT_EQ(params.Constant(0), "c.weight");
  EXPECT_EQ(params.Constant(0), "c.weight");
  EXPECT_EQ(params.Constant(0, {4}), "c.weight_1");
}

TEST(OnnxParams, TransposesAMatrix) {
  const CountedNet net(kInput +
                       "layer { name: 'f' type: 'InnerProduct' bottom: 'x' top: 'f' "
                       "inner_product_param { num_output: 3 } }\n");
  OnnxGraph graph(net.graph, net.weights);
  const OnnxConstant constant =
      ConstantOf(&graph, OnnxParams(&graph, 1).Transposed(0), net.graph.FindEdge("f"));
  EXPECT_EQ(constant.name, "f/constant");
  EXPECT_EQ(constant.shape, Shape({2, 3}));
  EXPECT_EQ(constant.floats, (std::vector<float>{1, 3, 5, 2, 4, 6}));
}

TEST(OnnxParams, AppendsAxesToAVectorOfChannels) {
  const CountedNet net(kInput + "layer { name: 'p' type: 'PReLU' bottom: 'x' top: 'p' }\n");
  OnnxGraph graph(net.graph, net.weights);
  const OnnxConstant constant =
      ConstantOf(&graph, OnnxParams(&graph, 1).PerChannel(0, 4), net.graph.FindEdge("p"));
  EXPECT_EQ(constant.shape, Shape({2, 1, 1}));
  EXPECT_EQ(constant.floats, (std::vector<float>{1, 2}));
}

TEST(Onnx, HasTheNumbersOfItsSchema) {
  // Copied from onnx.proto.
  const struct {
    const google::protobuf::Descriptor* message;
    const char* field;
    int number;
  } facts[] = {
      {onnx::ModelProto::descriptor(), "ir_version", 1},
      {onnx::ModelProto::descriptor(), "graph", 7},
      {onnx::ModelProto::descriptor(), "opset_import", 8},
      {onnx::ModelProto::descriptor(), "metadata_props", 14},
      {onnx::GraphProto::descriptor(), "node", 1},
      {onnx::GraphProto::descriptor(), "name", 2},
      {onnx::GraphProto::descriptor(), "initializer", 5},
      {onnx::GraphProto::descriptor(), "input", 11},
      {onnx::GraphProto::descriptor(), "output", 12},
      {onnx::NodeProto::descriptor(), "op_type", 4},
      {onnx::NodeProto::descriptor(), "attribute", 5},
      {onnx::AttributeProto::descriptor(), "ints", 8},
      {onnx::AttributeProto::descriptor(), "type", 20},
      {onnx::TensorProto::descriptor(), "dims", 1},
      {onnx::TensorProto::descriptor(), "data_type", 2},
      {onnx::TensorProto::descriptor(), "name", 8},
      {onnx::TensorProto::descriptor(), "raw_data", 9},
      {onnx::TensorProto::descriptor(), "external_data", 13},
      {onnx::TensorProto::descriptor(), "data_location", 14},
  };
  for (const auto& fact : facts) {
    const auto* field = fact.message->FindFieldByName(fact.field);
    ASSERT_NE(field, nullptr) << fact.field;
    EXPECT_EQ(field->number(), fact.number) << fact.message->name() << ' ' << fact.field;
  }
}

TEST(Onnx, MapsOnlyLayersAndSaysToWhat) {
  for (const std::string& type : OnnxMappings::Get().Names()) {
    EXPECT_NE(LayerTypes::Get().Find(type), nullptr) << type << " is no layer";
    EXPECT_NE(OnnxMappings::Get().Find(type)->words, "") << type;
  }
}

}  // namespace
}  // namespace doppio

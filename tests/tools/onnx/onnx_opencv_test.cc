// Tests that OpenCV, whose ONNX importer shares no code with Doppio, computes the same with an
// exported model as the net does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <opencv2/dnn.hpp>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/spec/solver_spec.h"
#include "tools/nets/deploy_net.h"
#include "tools/onnx/net_run.h"
#include "tools/onnx/onnx_layer.h"
#include "tools/onnx/write_onnx.h"

namespace doppio {
namespace {

constexpr double kTolerance = 1e-4;  // relative to the largest probability

// Returns a net of models/ for images of `size` rows and columns; 0: the size in the file.
Graph Model(const std::string& path, int size) {
  const NetSource source = LoadNet(path, Overrides(), TEST);
  NetOptions options;
  options.phase = TEST;
  options.data = DataMode::kAssume;
  options.batch = 2;
  NetSpec spec = MakeNetSpec(source.net, source.places, source.state, options);
  for (LayerSpec& layer : spec.layers) {
    if (size > 0 && layer.type() == "Data")
      layer.param.mutable_transform_param()->set_crop_size(static_cast<uint32_t>(size));
    if (size == 0 || layer.type() != "Input") continue;
    for (const int axis : {2, 3})
      layer.param.mutable_input_param()->mutable_shape(0)->set_dim(axis, size);
  }
  ReplaceLosses(&spec);
  return MakeGraph(std::move(spec));
}

// Returns values like those of a trained net: activations keep their magnitude from layer to layer.
std::vector<float> Trained(const Graph& graph, const GraphParam& param) {
  const std::string& type = graph.layer(param.node).type();
  const Shape& shape = param.shape;
  const double fan_in = static_cast<double>(shape.count()) / static_cast<double>(shape[0]);
  const Random random(3, Stream("param", graph.layer(param.node).name(), param.index));
  std::vector<float> values(static_cast<size_t>(shape.count()));
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = 2 * random.Uniform(0, i) - 1;
    const bool positive =
        (type == "BatchNorm" && param.index == 1) || (type == "Scale" && param.index == 0);
    values[i] = static_cast<float>(positive           ? 1 + value / 2
                                   : shape.rank() > 1 ? value * std::sqrt(6 / fan_in)
                                                      : value / 4);
    if (type == "BatchNorm" && param.index == 2) values[i] = 1;
  }
  return values;
}

cv::Mat MatOf(const NamedArray& array) {
  const auto& dims = array.shape.dims();
  return cv::Mat(std::vector<int>(dims.begin(), dims.end()), CV_32F,
                 const_cast<float*>(array.data));
}

void ExpectSameOutputs(const std::string& path, int size, const OnnxOptions& options = {}) {
  SCOPED_TRACE(path);
  const Graph graph = Model(path, size);
  const auto device = MakeCpuDevice();
  ParamStore params(device.get(), DType::kFloat32, 1);
  const std::vector<int> index = params.Resolve(graph);
  params.Place(false, {});
  params.Allocate();
  for (size_t i = 0; i < index.size(); ++i)
    WriteTensor(Trained(graph, graph.params[i]), params.param(index[i]).value, device.get());
  WeightTensors weights = WeightsOf(index, params, false);
  weights.device = nullptr;
  const OnnxContent content =
      MakeOnnx(graph, weights, std::vector<bool>(graph.edges.size()), options);
  const std::string file = testing::TempDir() + "/model.onnx";
  WriteOnnx(file, content, {}, false);
  const NetRun ours = RunOnRandomInput(graph, &params, content);

  cv::dnn::Net net = cv::dnn::readNetFromONNX(file);
  net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
  ASSERT_EQ(ours.inputs.size(), 1u);
  ASSERT_EQ(ours.outputs.size(), 1u);
  net.setInput(MatOf(ours.inputs[0]), ours.inputs[0].name);
  const cv::Mat theirs = net.forward();
  const NamedArray& output = ours.outputs[0];
  ASSERT_EQ(static_cast<size_t>(output.shape.count()), theirs.total());
  double difference = 0, largest = 0, sum = 0;
  for (size_t i = 0; i < theirs.total(); ++i) {
    difference = std::max<double>(difference, std::abs(output.data[i] - theirs.ptr<float>()[i]));
    largest = std::max<double>(largest, output.data[i]);
    sum += output.data[i];
  }
  EXPECT_GT(largest, 2 * sum / static_cast<double>(theirs.total()))
      << "probabilities that are all alike agree whatever computes them";
  EXPECT_LE(difference, kTolerance * largest);
}

OnnxOptions Folded() {
  OnnxOptions options;
  options.fold_bn = true;
  return options;
}

TEST(OnnxInOpenCv, AgreesOnLeNet) { ExpectSameOutputs("models/lenet/train_val.prototxt", 0); }
TEST(OnnxInOpenCv, AgreesOnCifar10Quick) {
  ExpectSameOutputs("models/cifar10_quick/train_val.prototxt", 0);
}
TEST(OnnxInOpenCv, AgreesOnSqueezeNet) {
  ExpectSameOutputs("models/squeezenet/train_val.prototxt", 67);
}
TEST(OnnxInOpenCv, AgreesOnMobileNet) {
  ExpectSameOutputs("models/mobilenet_v1/deploy.prototxt", 64);
}
TEST(OnnxInOpenCv, AgreesOnMobileNetWithFoldedNorms) {
  ExpectSameOutputs("models/mobilenet_v1/deploy.prototxt", 64, Folded());
}
TEST(OnnxInOpenCv, AgreesOnResNet) { ExpectSameOutputs("models/resnet18/deploy.prototxt", 64); }

}  // namespace
}  // namespace doppio

// Tests that nets and weights in Caffe's formats, from other authors and from Doppio, give the same
// outputs in Doppio and in OpenCV, whose importer of Caffe's files shares no code with Doppio.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <opencv2/dnn.hpp>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/random.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/run/net.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/spec/spec.h"
#include "core/net/store/weights.h"
#include "tests/core/net/weight_files.h"
#include "tests/solvers/trainer_case.h"

namespace doppio {
namespace {

constexpr double kTolerance = 1e-4;

// A net with one input, in the TEST phase, with weights from a file.
class OurNet {
 public:
  OurNet(const std::string& model, const std::string& weights,
         const std::vector<std::string>& overrides = {})
      : device_(MakeCpuDevice()), params_(device_.get(), DType::kFloat32, 1) {
    NetOptions phase;
    phase.phase = TEST;
    const NetSource source = LoadNet(model, ParseOverrides(overrides));
    PlanOptions options;
    options.device = device_.get();
    net_ = std::make_unique<Net>(
        MakeGraph(MakeNetSpec(source.net, source.places, source.state, phase)), options, &params_);
    const WeightsReport report =
        CopyWeights(ReadWeights(weights), graph(), net_->plan().param_index, &params_);
    EXPECT_TRUE(report.missing.empty()) << report.missing[0] << " has no weights in " << weights;
  }

  const Graph& graph() const { return net_->graph(); }
  const Shape& InputShape() const { return graph().edges[0].shape; }

  std::vector<PlainBlob> Forward(const std::vector<float>& input) {
    WriteTensor(input, net_->Blob(graph().edges[0].name), device_.get());
    net_->Forward();
    std::vector<PlainBlob> outputs;
    for (int output : graph().outputs)
      outputs.push_back(ReadTensor(net_->Blob(Output(output).name), device_.get()));
    return outputs;
  }

  // Returns the layers that compute the outputs, in Forward's order, because OpenCV identifies
  // outputs by their layers.
  std::vector<std::string> OutputLayers() const {
    std::vector<std::string> layers;
    for (int output : graph().outputs)
      layers.push_back(graph().layer(Output(output).producer).name());
    return layers;
  }

  void Write(const std::string& path) const {
    WriteWeights(path, false, graph(), net_->plan().param_index, params_);
  }

 private:
  const Edge& Output(int output) const { return graph().edges[static_cast<size_t>(output)]; }

  std::unique_ptr<Device> device_;
  ParamStore params_;
  std::unique_ptr<Net> net_;
};

std::vector<float> RandomInput(int64_t count) {
  const Random random(7, 1);
  std::vector<float> input(static_cast<size_t>(count));
  for (size_t i = 0; i < input.size(); ++i) input[i] = random.Normal(0, i);
  return input;
}

std::vector<cv::Mat> ForwardInOpenCv(const std::string& model, const std::string& weights,
                                     const Shape& shape, std::vector<float> input,
                                     const std::vector<std::string>& layers) {
  std::vector<int> extents;
  for (int axis = 0; axis < shape.rank(); ++axis) extents.push_back(static_cast<int>(shape[axis]));
  cv::dnn::Net net = cv::dnn::readNetFromCaffe(model, weights);
  net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
  net.setInput(cv::Mat(extents, CV_32F, input.data()));
  std::vector<cv::Mat> outputs;
  net.forward(outputs, std::vector<cv::String>(layers.begin(), layers.end()));
  for (cv::Mat& output : outputs) output = output.clone();
  return outputs;
}

// Expects the same outputs from Doppio and OpenCV for a random input. OpenCV reads the weights from
// `theirs`, or from `weights` if `theirs` is empty.
void ExpectSameOutputs(const std::string& model, const std::string& weights,
                       const std::vector<std::string>& overrides = {},
                       const std::string& theirs = "") {
  SCOPED_TRACE(weights);
  OurNet ours(model, weights, overrides);
  const std::vector<float> input = RandomInput(ours.InputShape().count());
  const std::vector<PlainBlob> got = ours.Forward(input);
  const std::vector<cv::Mat> wanted = ForwardInOpenCv(
      model, theirs.empty() ? weights : theirs, ours.InputShape(), input, ours.OutputLayers());
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t o = 0; o < got.size(); ++o) {
    SCOPED_TRACE(ours.OutputLayers()[o]);
    ASSERT_EQ(got[o].data.size(), wanted[o].total());
    const float* want = wanted[o].ptr<float>();
    double difference = 0, largest = 0;
    for (size_t i = 0; i < got[o].data.size(); ++i) {
      difference = std::max<double>(difference, std::abs(got[o].data[i] - want[i]));
      largest = std::max<double>(largest, std::abs(want[i]));
    }
    EXPECT_GT(largest, 0.01) << "outputs of nothing agree whatever computes them";
    EXPECT_LE(difference, kTolerance);
  }
}

// Tests with the models in the optional shared folder; skipped without the folder.
class CorpusModels : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = SharedFile("corpus/models/");
    if (folder_.empty() || !FileExists(folder_ + "mtcnn_det1/det1.prototxt"))
      GTEST_SKIP() << "DOPPIO_SHARED names no folder with corpus/models";
  }
  void Expect(const std::string& model, const std::string& weights,
              const std::vector<std::string>& overrides = {}) {
    ExpectSameOutputs(folder_ + model, folder_ + weights, overrides);
  }
  std::string folder_;
};

TEST_F(CorpusModels, AgreeOnProposalsOfMtcnnForItsOwnSizeAndAnImage) {
  Expect("mtcnn_det1/det1.prototxt", "mtcnn_det1/det1.caffemodel");
  Expect("mtcnn_det1/det1.prototxt", "mtcnn_det1/det1.caffemodel",
         {"net.input_dim=[1, 3, 47, 62]"});
}

TEST_F(CorpusModels, AgreeOnMtcnnWhoseWeightsHaveALayerMore) {
  Expect("mtcnn_det2/det2.prototxt", "mtcnn_det2/det2.caffemodel");
  Expect("mtcnn_det2/det2.prototxt", "mtcnn_det2/det2.caffemodel",
         {"net.input_dim=[3, 3, 24, 24]"});
}

TEST_F(CorpusModels, AgreeOnLeNetInTheV1FormatAndInTheCurrentOne) {
  Expect("lenet_v1_with_state/lenet.prototxt", "lenet_v1_with_state/lenet_iter_10000.caffemodel");
  Expect("lenet_rmsprop/lenet.prototxt", "lenet_rmsprop/lenet_rmsprop_iter_10000.caffemodel");
}

TEST_F(CorpusModels, AgreeOnCifar10Quick) {
  Expect("cifar10_quick_v2_with_state/cifar10_quick.prototxt",
         "cifar10_quick_v2_with_state/cifar10_quick_iter_4000.caffemodel");
}

TEST_F(CorpusModels, AgreeOnCifar10QuickFromHdf5ThatWeWroteAsBinary) {
  const std::string model = folder_ + "cifar10_quick_h5/cifar10_quick.prototxt";
  const std::string weights = folder_ + "cifar10_quick_h5/cifar10_quick_iter_5000.caffemodel.h5";
  const std::string binary = Temporary("quick.caffemodel");
  OurNet(model, weights).Write(binary);
  ExpectSameOutputs(model, weights, {}, binary);
}

TEST_F(CorpusModels, AgreeOnAnMlpOnVectors) {
  Expect("kaffe_mlp/mlp.prototxt", "kaffe_mlp/mlp.caffemodel");
}

constexpr char kBody[] = R"(
  layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
          convolution_param { num_output: 4 kernel_size: 3 pad: 1 stride: 2 bias_term: false
                              weight_filler { type: "msra" } } }
  layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }
  layer { name: "scale" type: "Scale" bottom: "conv" top: "conv" scale_param { bias_term: true } }
  layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
  layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool"
          pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
  layer { name: "grouped" type: "Convolution" bottom: "pool" top: "grouped"
          convolution_param { num_output: 6 kernel_size: 1 group: 2
                              weight_filler { type: "msra" } } }
  layer { name: "tanh" type: "TanH" bottom: "grouped" top: "tanh" }
  layer { name: "ip" type: "InnerProduct" bottom: "tanh" top: "ip"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
)";

TEST(Snapshot, OfATrainingIsReadByOpenCv) {
  const std::string data = R"(
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 6 dim: 3 dim: 17 dim: 14 } shape { dim: 6 dim: 5 }
                               data_filler { type: "gaussian" std: 2 }
                               data_filler { type: "uniform" min: -1 max: 1 } } })";
  const std::string loss =
      R"(layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" })";
  TrainerCase training(data + kBody + loss,
                       "base_lr: 0.05 lr_policy: 'fixed' momentum: 0.9 max_iter: 6");
  training.Make()->Solve();
  const std::string deploy = Temporary("deploy.prototxt");
  WriteBytes(deploy, std::string("layer { name: 'in' type: 'Input' top: 'x'\n"
                                 "  input_param { shape { dim: 2 dim: 3 dim: 17 dim: 14 } } }\n") +
                         kBody);
  ExpectSameOutputs(deploy, training.Model(6));
}

}  // namespace
}  // namespace doppio

// Tests ranges of layers on a net of four layers: x, a = 2 x, s = w a with w = 3, and the loss
// q = 5 s.
#include "core/net/run/layer_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/net/contract/plain_blob.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

using Values = std::vector<float>;

class FourLayers {
 public:
  FourLayers() {
    PlanOptions options;
    options.device = device_.get();
    options.backward = options.keep_all = true;
    net_ = std::make_unique<Net>(GraphFromText(R"(
        force_backward: true
        layer { name: 'x' type: 'TestInput' top: 'x' input_param { shape { dim: 1 dim: 4 } } }
        layer { name: 'a' type: 'Power' bottom: 'x' top: 'a' power_param { scale: 2 } }
        layer { name: 's' type: 'Scale' bottom: 'a' top: 's'
                scale_param { axis: 0 num_axes: 0 filler { value: 3 } } }
        layer { name: 'q' type: 'Power' bottom: 's' top: 'q' power_param { scale: 5 }
                loss_weight: 1 })"),
                                 options, &params_);
    Write("x", {1, 2, 3, 4});
    net_->Forward();
    net_->Backward(false);
  }

  LayerRange Range(int first, int last) { return {first, last, net_.get()}; }
  void Write(const std::string& blob, const Values& values) {
    WriteTensor(values, net_->Blob(blob), device_.get());
  }
  void WriteGradient(const std::string& blob, const Values& values) {
    WriteTensor(values, net_->BlobGradient(blob), device_.get());
  }
  Values Value(const std::string& blob) { return ReadTensor(net_->Blob(blob), device_.get()).data; }
  Values Gradient(const std::string& blob) {
    return ReadTensor(net_->BlobGradient(blob), device_.get()).data;
  }
  float GradientOfWeight() {
    const Param& weight = params_.param(net_->plan().param_index[0]);
    return ReadTensor(weight.grad, device_.get()).data[0];
  }

 private:
  const std::unique_ptr<Device> device_ = MakeCpuDevice();
  ParamStore params_{device_.get(), DType::kFloat32, 1};
  std::unique_ptr<Net> net_;
};

TEST(LayerRange, RunsOnlyItsLayersForward) {
  FourLayers net;
  EXPECT_EQ(net.Value("q"), (Values{30, 60, 90, 120}));
  net.Write("a", {1, 1, 0, 2});
  net.Range(2, 2).Forward();
  EXPECT_EQ(net.Value("a"), (Values{1, 1, 0, 2}));
  EXPECT_EQ(net.Value("s"), (Values{3, 3, 0, 6}));
  EXPECT_EQ(net.Value("q"), (Values{30, 60, 90, 120}));
}

TEST(LayerRange, RunsOnlyItsLayersBackwardAndAddsGradientsOfParameters) {
  FourLayers net;
  EXPECT_EQ(net.Gradient("x"), Values(4, 30));
  EXPECT_EQ(net.GradientOfWeight(), 100);
  net.WriteGradient("s", {1, 0, 0, 1});
  net.Range(2, 2).Backward();
  EXPECT_EQ(net.Gradient("a"), (Values{3, 0, 0, 3}));
  EXPECT_EQ(net.Gradient("x"), Values(4, 30));
  EXPECT_EQ(net.GradientOfWeight(), 110);
}

TEST(LayerRange, OfAllLayersRunsTheNetAndAddsGradientsOfParameters) {
  FourLayers net;
  net.Write("x", {0, 0, 0, 1});
  net.Range(0, 3).Forward();
  EXPECT_EQ(net.Value("q"), (Values{0, 0, 0, 30}));
  net.Range(0, 3).Backward();
  EXPECT_EQ(net.Gradient("x"), Values(4, 30));
  EXPECT_EQ(net.GradientOfWeight(), 110);
}

// oneDNN's convolutions read their bottom in a layout of their own. The reorder belongs to the
// first of them.
TEST(LayerRange, ReordersBottomsForALaterLayer) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ParamStore params(device.get(), DType::kFloat32, 1);
  PlanOptions options;
  options.device = device.get();
  options.keep_all = true;
  const std::string convolution =
      "type: 'Convolution' bottom: 'x' convolution_param { num_output: 16 kernel_size: 3 "
      "weight_filler { type: 'xavier' } } }";
  Net net(GraphFromText("layer { name: 'x' type: 'Input' top: 'x' "
                        "input_param { shape { dim: 1 dim: 16 dim: 5 dim: 5 } } }"
                        "layer { name: 'first' top: 'first' " +
                        convolution + "layer { name: 'second' top: 'second' " + convolution),
          options, &params);
  std::vector<float> x(16 * 5 * 5, 1);
  WriteTensor(x, net.Blob("x"), device.get());
  net.Forward();
  const std::vector<float> of_ones = ReadTensor(net.Blob("second"), device.get()).data;
  std::fill(x.begin(), x.end(), 2.0f);
  WriteTensor(x, net.Blob("x"), device.get());
  LayerRange(2, 2, &net).Forward();
  const std::vector<float> of_twos = ReadTensor(net.Blob("second"), device.get()).data;
  for (size_t i = 0; i < of_ones.size(); ++i) EXPECT_FLOAT_EQ(of_twos[i], 2 * of_ones[i]) << i;
}

}  // namespace
}  // namespace doppio

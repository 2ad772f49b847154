// Tests that scaling the loss scales every gradient and nothing else, for every kind of loss that
// gradients start from.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/net/contract/plain_blob.h"
#include "core/net/run/net.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

struct PassResult {
  float scale = 1;
  double loss = 0;
  std::vector<float> gradients;
};

// Runs forward and backward in one net, once for each of `scales`. The data differs from pass to
// pass.
std::vector<PassResult> Passes(const std::string& text, const std::vector<float>& scales,
                               Device* device) {
  ParamStore store(device, DType::kFloat32, 5);
  PlanOptions options;
  options.device = device;
  options.backward = true;
  Net net(GraphFromText(text), options, &store);
  std::vector<PassResult> passes;
  for (float scale : scales) {
    PassResult pass;
    pass.scale = scale;
    net.SetLossScale(scale);
    pass.loss = net.Forward();
    net.Backward(false);
    for (const Param& param : store.params()) {
      const std::vector<float> values = ReadTensor(param.grad, device).data;
      pass.gradients.insert(pass.gradients.end(), values.begin(), values.end());
    }
    passes.push_back(std::move(pass));
  }
  return passes;
}

// The scales are powers of two, which do not change the mantissa of a float.
void ExpectScaled(const std::string& text) {
  const std::unique_ptr<Device> device = TestDevice();
  const std::vector<PassResult> plain = Passes(text, {1, 1, 1, 1, 1}, device.get());
  const std::vector<PassResult> scaled = Passes(text, {1024, 1024, 65536, 0.5f, 1}, device.get());
  for (size_t p = 0; p < plain.size(); ++p) {
    EXPECT_EQ(plain[p].loss, scaled[p].loss) << device->name() << ", pass " << p;
    ASSERT_EQ(plain[p].gradients.size(), scaled[p].gradients.size());
    float largest = 0;
    for (size_t i = 0; i < plain[p].gradients.size(); ++i) {
      ASSERT_EQ(plain[p].gradients[i] * scaled[p].scale, scaled[p].gradients[i])
          << device->name() << ", pass " << p;
      largest = std::max(largest, std::fabs(plain[p].gradients[i]));
    }
    EXPECT_GT(largest, 0);
  }
}

// Returns a net that maps 5x7 random numbers to 5x3.
std::string TwoLayers(const std::string& on_h = "") {
  return R"(
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 5 dim: 7 } shape { dim: 5 dim: 3 }
                               data_filler { type: "gaussian" std: 1 }
                               data_filler { type: "uniform" min: -1 max: 1 } } }
    layer { name: "ip1" type: "InnerProduct" bottom: "x" top: "h0"
            inner_product_param { num_output: 9 weight_filler { type: "xavier" } } }
    layer { name: "tanh" type: "TanH" bottom: "h0" top: "h" )" +
         on_h + R"( }
    layer { name: "ip2" type: "InnerProduct" bottom: "h" top: "out"
            inner_product_param { num_output: 3 weight_filler { type: "xavier" } } })";
}

std::string Euclidean(const std::string& more = "") {
  return "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'out' bottom: 'y' top: 'loss' " +
         more + " }";
}

TEST_ON_DEVICES(LossScale, ReachesTheImplicitWeight) { ExpectScaled(TwoLayers() + Euclidean()); }

TEST_ON_DEVICES(LossScale, ReachesAWrittenWeight) {
  ExpectScaled(TwoLayers() + Euclidean("loss_weight: 0.3"));
}

TEST_ON_DEVICES(LossScale, ReachesALossOnTheWay) {
  ExpectScaled(TwoLayers("loss_weight: 0.01") + Euclidean());
}

TEST_ON_DEVICES(LossScale, ReachesSeveralLosses) {
  ExpectScaled(TwoLayers() + Euclidean("loss_weight: 3") +
               "layer { name: 'abs' type: 'AbsVal' bottom: 'out' top: 'abs' loss_weight: 0.7 }");
}

TEST_ON_DEVICES(LossScale, ReachesALossThatAnotherLayerReads) {
  ExpectScaled(TwoLayers() + Euclidean() +
               "layer { name: 'power' type: 'Power' bottom: 'loss' top: 'p' loss_weight: 2 "
               "power_param { power: 2 } }");
}

// Another layer reads the loss 1/2 with the factor 1e35. At the second scale, the gradient is too
// large for a float.
TEST_ON_DEVICES(LossScale, DoesNotShowItsOverflowInTheLoss) {
  const std::string text = R"(
    layer { name: "in" type: "DummyData" top: "x" top: "zero"
            dummy_data_param { shape { dim: 1 dim: 1 } shape { dim: 1 dim: 1 }
                               data_filler { value: 1 } data_filler { value: 0 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "w"
            inner_product_param { num_output: 1 bias_term: false weight_filler { type: "constant" value: 1 } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "w" bottom: "zero" top: "loss" }
    layer { name: "power" type: "Power" bottom: "loss" top: "p" loss_weight: 1 power_param { scale: 1e35 } })";
  const std::unique_ptr<Device> device = TestDevice();
  const std::vector<PassResult> passes = Passes(text, {2, 1 << 24, 2}, device.get());
  EXPECT_FLOAT_EQ(static_cast<float>(passes[0].loss),
                  0.5e35f);  // the loss's own weight is 1 in the first pass
  EXPECT_FLOAT_EQ(static_cast<float>(passes[1].loss), 1e35f);  // then the weight is 1e35
  EXPECT_FALSE(std::isfinite(passes[1].gradients[0]));
  EXPECT_FLOAT_EQ(static_cast<float>(passes[2].loss), 1e35f);
  EXPECT_FLOAT_EQ(passes[2].gradients[0], 2e35f);
}

}  // namespace
}  // namespace doppio

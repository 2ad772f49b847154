// Tests that a kind of device that no code knows can run a net: it registers tensor operations, and
// the host computes the layers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/net/contract/plain_blob.h"
#include "core/net/run/net.h"
#include "tests/core/net/far_device.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

DOPPIO_REGISTER(TensorOpsOfKinds, kFarKind, &OpsOfFar);

// The blob conv has two readers, so gradients are added; relu works in place.
constexpr char kFarNet[] = R"(
  layer { name: 'in' type: 'DummyData' top: 'x' top: 'y'
    dummy_data_param { data_filler { type: 'gaussian' } data_filler { value: 1 }
      shape { dim: 4 dim: 3 dim: 6 dim: 6 } shape { dim: 4 } } }
  layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'conv' device: 'gpu:0'
    convolution_param { num_output: 5 kernel_size: 3 weight_filler { type: 'xavier' } } }
  layer { name: 'tanh' type: 'TanH' bottom: 'conv' top: 'tanh' }
  layer { name: 'sum' type: 'Eltwise' bottom: 'conv' bottom: 'tanh' top: 'sum' }
  layer { name: 'relu' type: 'ReLU' bottom: 'sum' top: 'sum' device: 'gpu:1' }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'sum' top: 'ip'
    inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'y' top: 'loss' })";

struct FarResults {
  double loss = 0;
  std::vector<std::vector<float>> values, gradients;  // of each parameter
};

// With `second`, `device` computes the layers up to sum, and `second` all others.
FarResults RunFarNet(Device* device, Device* second = nullptr) {
  ParamStore store(device, DType::kFloat32, 1);
  PlanOptions options;
  options.device = device;
  if (second != nullptr) options.places = {{"gpu:0", device}, {"gpu:1", second}};
  options.backward = true;
  options.engine = "reference";
  options.fusion = false;
  Net net(GraphFromText(kFarNet), options, &store);
  FarResults results;
  for (int pass = 0; pass < 2; ++pass) {
    results.loss = net.Forward();
    net.Backward(/*accumulate=*/false);
  }
  for (const Param& param : store.params()) {
    results.values.push_back(ReadTensor(param.value, device).data);
    results.gradients.push_back(ReadTensor(param.grad, device).data);
  }
  EXPECT_EQ(store.arenas().size(), second == nullptr ? 1u : 2u);
  return results;
}

TEST(NewKindOfDevice, GivesTheSameBitsAsTheHost) {
  FarDevice far;
  const FarResults there = RunFarNet(&far), here = RunFarNet(MakeCpuDevice().get());
  EXPECT_GT(here.loss, 0);
  EXPECT_EQ(there.loss, here.loss);
  EXPECT_EQ(there.values, here.values);
  EXPECT_EQ(there.gradients, here.gradients);
  EXPECT_EQ(far.bytes_in_use(), 0);
}

TEST(NewKindOfDevice, SharesTheLayersWithAnotherDevice) {
  FarDevice first, second;
  const FarResults there = RunFarNet(&first, &second), here = RunFarNet(MakeCpuDevice().get());
  EXPECT_EQ(there.loss, here.loss);
  EXPECT_EQ(there.values, here.values);
  EXPECT_EQ(there.gradients, here.gradients);
  EXPECT_EQ(first.bytes_in_use() + second.bytes_in_use(), 0);
  EXPECT_GT(second.peak_bytes(), 0);
}

}  // namespace
}  // namespace doppio

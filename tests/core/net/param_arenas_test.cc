// Tests the memory of parameters without a net: the order in the arenas, gradients that share
// memory, and replicas.
#include "core/net/store/param_arenas.h"

#include <gtest/gtest.h>

#include "core/net/contract/plain_blob.h"
#include "core/net/store/param_replicas.h"

namespace doppio {
namespace {

Param ParamOf(Device* device, int64_t count) {
  Param param;
  param.shape = Shape{count};
  param.device = device;
  param.value = Tensor({param.shape, DType::kFloat32, Layout()}, nullptr);
  return param;
}

// Two parameters with a gradient, a frozen one and statistics that layers update.
std::vector<Param> FourParams(Device* device) {
  std::vector<Param> params;
  for (const int64_t count : {3, 100, 5, 7}) params.push_back(ParamOf(device, count));
  params[3].updated = true;
  return params;
}

TEST(ParamArenas, PlacesGradientsThenStatisticsThenOthers) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  std::vector<Param> params = FourParams(device.get());
  ParamArenas arenas(device.get(), DType::kFloat32);
  arenas.Place({0, 1, 2, 3}, {1, 0}, {}, &params);
  ParamBytes bytes;
  arenas.AddBytes(nullptr, &bytes);
  EXPECT_EQ(bytes.values, 4 * 320);
  EXPECT_EQ(bytes.grads, 4 * 320);
  arenas.Allocate(&params);
  EXPECT_FALSE(arenas.gradients_share_memory());
  const int64_t offsets[] = {128, 0, 256, 192};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(params[i].gradient, i < 2);
    EXPECT_EQ(params[i].offset, offsets[i]) << i;
    EXPECT_EQ(params[i].grad_offset, offsets[i]) << i;
    EXPECT_EQ(params[i].value.raw, arenas.values().data<float>() + offsets[i]) << i;
    EXPECT_EQ(params[i].grad.raw, arenas.grads().data<float>() + offsets[i]) << i;
  }
  EXPECT_EQ(arenas[0].size, 320);
  EXPECT_EQ(arenas[0].gradients_end, 192);
  EXPECT_EQ(arenas.statistics().raw, params[3].value.raw);
  EXPECT_EQ(arenas.statistics().count(), 64);
  ParamBytes again;
  arenas.AddBytes(nullptr, &again);
  EXPECT_EQ(again.values, 0) << "already allocated";
}

TEST(ParamArenas, GradientsOfDifferentTimesShareMemory) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  std::vector<Param> params = FourParams(device.get());
  ParamArenas arenas(device.get(), DType::kFloat32);
  arenas.Place({0, 1, 2, 3}, {1, 0}, {{0, 1, 2}, {0, 3, 4}}, &params);
  arenas.Allocate(&params);
  EXPECT_TRUE(arenas.gradients_share_memory());
  EXPECT_EQ(arenas[0].grads_bytes, PlacedBytes(400));
  EXPECT_EQ(params[0].grad.raw, params[1].grad.raw);
  EXPECT_NE(params[0].value.raw, params[1].value.raw);
  EXPECT_EQ(params[2].grad.raw, nullptr);
}

TEST(ParamArenas, PlacesAgainAfterAPlanThatWasRefused) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  std::vector<Param> params = FourParams(device.get());
  ParamArenas arenas(device.get(), DType::kFloat32);
  for (int attempt = 0; attempt < 2; ++attempt) {
    arenas.Place({0, 1, 2, 3}, {1, 0}, {}, &params);
    EXPECT_EQ(arenas[0].size, 320);
  }
}

TEST(ParamReplicas, ShareWeightsAndCopyStatistics) {
  const std::unique_ptr<Device> device = MakeCpuDevice(), second = MakeCpuDevice();
  std::vector<Param> params = {ParamOf(device.get(), 2), ParamOf(device.get(), 2)};
  params[1].trainable = false;
  for (Param& param : params) param.replicas.push_back({second.get(), {}, {}});
  ParamArenas arenas(device.get(), DType::kFloat32);
  arenas.Place({0, 1}, {0}, {}, &params);
  ParamBytes bytes;
  ParamReplicas::AddBytes({0, 1}, params, second.get(), &bytes);
  EXPECT_EQ(bytes.replica_values, 2 * 4);
  EXPECT_EQ(bytes.replica_grads, 2 * 4);
  arenas.Allocate(&params);
  ParamReplicas replicas;
  EXPECT_TRUE(replicas.empty());
  replicas.Allocate({0, 1}, &params);
  EXPECT_FALSE(replicas.empty());

  EXPECT_EQ(params[0].ValueOf(1).raw, params[0].value.raw);
  EXPECT_NE(params[1].ValueOf(1).raw, params[1].value.raw);
  EXPECT_EQ(params[1].GradientOf(1).raw, nullptr);
  WriteTensor({1, 2}, params[1].value, device.get());
  replicas.CopyValues();
  EXPECT_EQ(ReadTensor(params[1].ValueOf(1), second.get()).data, (std::vector<float>{1, 2}));
  WriteTensor({1, 2}, params[0].grad, device.get());
  WriteTensor({10, 20}, params[0].GradientOf(1), second.get());
  replicas.AddGradients();
  EXPECT_EQ(ReadTensor(params[0].grad, device.get()).data, (std::vector<float>{11, 22}));
}

}  // namespace
}  // namespace doppio

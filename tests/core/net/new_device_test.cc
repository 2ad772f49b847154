// Tests that a kind of device that no code knows can run a net: it registers tensor operations, and
// the host computes the layers.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/math/tensor_ops.h"
#include "core/net/run/net.h"
#include "core/net/store/plain_blob.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

constexpr char kFarKind[] = "far";

// The distance between an address of the far device and the host's. Access to a far address is a
// segmentation fault on the host.
constexpr intptr_t kDistance = intptr_t{1} << 60;

template <class T>
T* Far(T* near) {
  return near == nullptr ? near
                         : reinterpret_cast<T*>(reinterpret_cast<intptr_t>(near) + kDistance);
}
template <class T>
T* Near(T* far) {
  return far == nullptr ? far : reinterpret_cast<T*>(reinterpret_cast<intptr_t>(far) - kDistance);
}
Tensor Near(const Tensor& far) { return Tensor(far, Near(far.raw)); }

// A device with memory that the host cannot address.
class FarDevice : public Device {
 public:
  ~FarDevice() override { DestroyAttached(); }
  std::string kind() const override { return kFarKind; }
  std::string name() const override { return "far device"; }
  bool host_memory() const override { return false; }
  bool asynchronous() const override { return true; }
  bool listed() const override { return true; }
  void* Allocate(int64_t bytes) override { return Far(near_->Allocate(bytes)); }
  void Free(void* memory) noexcept override { near_->Free(Near(memory)); }
  void CopyFromHost(void* to, const void* from, int64_t bytes) override {
    near_->CopyFromHost(Near(to), from, bytes);
  }
  void CopyToHost(void* to, const void* from, int64_t bytes) override {
    near_->CopyToHost(to, Near(from), bytes);
  }
  void Zero(void* memory, int64_t bytes) override { near_->Zero(Near(memory), bytes); }
  void Synchronize() override {}
  int64_t bytes_in_use() const override { return near_->bytes_in_use(); }
  int64_t peak_bytes() const override { return near_->peak_bytes(); }
  Device* near() const { return near_.get(); }

 private:
  const std::unique_ptr<Device> near_ = MakeCpuDevice();
};

class FarConverter : public Converter {
 public:
  explicit FarConverter(std::unique_ptr<Converter> near) : near_(std::move(near)) {}
  void Run(const void* from, void* to) const override { near_->Run(Near(from), Near(to)); }

 private:
  const std::unique_ptr<Converter> near_;
};

class FarOps : public TensorOps {
 public:
  explicit FarOps(Device* device) : near_(OpsOf(static_cast<FarDevice*>(device)->near())) {}
  void Add(const Tensor& a, const Tensor& b, const Tensor& to) const override {
    near_.Add(Near(a), Near(b), Near(to));
  }
  void Copy(const Tensor& from, const Tensor& to) const override {
    near_.Copy(Near(from), Near(to));
  }
  void Fill(float value, const Tensor& to) const override { near_.Fill(value, Near(to)); }
  void Scale(double factor, const Tensor& to) const override { near_.Scale(factor, Near(to)); }
  std::unique_ptr<Converter> Convert(const TensorSpec& from, const TensorSpec& to) const override {
    return std::make_unique<FarConverter>(near_.Convert(from, to));
  }

 private:
  const TensorOps& near_;
};

const TensorOps& OpsOfFar(Device* device) { return device->Attached<FarOps>("far operations"); }

DOPPIO_REGISTER(TensorOpsOfKinds, kFarKind, &OpsOfFar);

// The blob conv has two readers, so gradients are added; relu works in place.
constexpr char kFarNet[] = R"(
  layer { name: 'in' type: 'DummyData' top: 'x' top: 'y'
    dummy_data_param { data_filler { type: 'gaussian' } data_filler { value: 1 }
      shape { dim: 4 dim: 3 dim: 6 dim: 6 } shape { dim: 4 } } }
  layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'conv'
    convolution_param { num_output: 5 kernel_size: 3 weight_filler { type: 'xavier' } } }
  layer { name: 'tanh' type: 'TanH' bottom: 'conv' top: 'tanh' }
  layer { name: 'sum' type: 'Eltwise' bottom: 'conv' bottom: 'tanh' top: 'sum' }
  layer { name: 'relu' type: 'ReLU' bottom: 'sum' top: 'sum' }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'sum' top: 'ip'
    inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'y' top: 'loss' })";

struct FarResults {
  double loss = 0;
  std::vector<std::vector<float>> values, gradients;  // of each parameter
};

FarResults RunFarNet(Device* device) {
  ParamStore store(device, DType::kFloat32, 1);
  PlanOptions options;
  options.device = device;
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

}  // namespace
}  // namespace doppio

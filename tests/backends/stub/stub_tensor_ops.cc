// Adds, copies, fills, scales and converts tensors of a stub.
#include "core/math/tensor_ops.h"
#include "tests/backends/stub/stub_device.h"

namespace doppio {
namespace {

class StubConverter : public Converter {
 public:
  explicit StubConverter(std::unique_ptr<Converter> host) : host_(std::move(host)) {}
  void Run(const void* from, void* to) const override { host_->Run(OnHost(from), OnHost(to)); }

 private:
  const std::unique_ptr<Converter> host_;
};

class StubOps : public TensorOps {
 public:
  explicit StubOps(Device* device) : host_(OpsOf(HostBehind(device))) {}
  void Add(const Tensor& a, const Tensor& b, const Tensor& to) const override {
    host_.Add(OnHost(a), OnHost(b), OnHost(to));
  }
  void Copy(const Tensor& from, const Tensor& to) const override {
    host_.Copy(OnHost(from), OnHost(to));
  }
  void Fill(float value, const Tensor& to) const override { host_.Fill(value, OnHost(to)); }
  void Scale(double factor, const Tensor& to) const override { host_.Scale(factor, OnHost(to)); }
  std::unique_ptr<Converter> Convert(const TensorSpec& from, const TensorSpec& to) const override {
    return std::make_unique<StubConverter>(host_.Convert(from, to));
  }

 private:
  const TensorOps& host_;
};

const TensorOps& OpsOfStub(Device* device) {
  return device->attached().Get<StubOps>("stub operations");
}

DOPPIO_REGISTER(TensorOpsOfKinds, kStubKind, &OpsOfStub);

}  // namespace
}  // namespace doppio

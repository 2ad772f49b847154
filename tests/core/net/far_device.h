// A kind of device that no code knows, with memory that the host cannot address. A test that uses
// it registers the operations on tensors; the host computes the layers:
//   DOPPIO_REGISTER(TensorOpsOfKinds, kFarKind, &OpsOfFar);
#ifndef DOPPIO_TESTS_CORE_NET_FAR_DEVICE_H_
#define DOPPIO_TESTS_CORE_NET_FAR_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/math/tensor_ops.h"

namespace doppio {

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
inline Tensor Near(const Tensor& far) { return Tensor(far, Near(far.raw)); }

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

inline const TensorOps& OpsOfFar(Device* device) {
  return device->Attached<FarOps>("far operations");
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_CORE_NET_FAR_DEVICE_H_

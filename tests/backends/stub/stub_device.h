// The device of the stub, a backend that computes on the host under a kind of its own. A new
// backend starts from this folder: each file registers one thing ("A new kind of device" in
// docs/extending.md).
#ifndef DOPPIO_TESTS_BACKENDS_STUB_STUB_DEVICE_H_
#define DOPPIO_TESTS_BACKENDS_STUB_STUB_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/device/device.h"
#include "core/tensor/tensor.h"

namespace doppio {

constexpr char kStubKind[] = "stub";

// The distance between an address of the stub and the host memory behind it. On the host, access to
// an address of the stub is a segmentation fault, so tests find code that mixes them up.
constexpr intptr_t kStubDistance = intptr_t{1} << 60;

// Convert an address of the host to that of a stub, and back. Null stays null.
template <class T>
T* OnStub(T* host) {
  if (host == nullptr) return host;
  return reinterpret_cast<T*>(reinterpret_cast<intptr_t>(host) + kStubDistance);
}
template <class T>
T* OnHost(T* stub) {
  if (stub == nullptr) return stub;
  return reinterpret_cast<T*>(reinterpret_cast<intptr_t>(stub) - kStubDistance);
}
inline Tensor OnHost(const Tensor& stub) { return Tensor(stub, OnHost(stub.raw)); }

// A device whose memory the host cannot address. It executes each call at once, so it is not
// asynchronous.
class StubDevice : public Device {
 public:
  explicit StubDevice(int index = 0)
      : Device({/*host_memory=*/false, /*asynchronous=*/false, /*listed=*/true}), index_(index) {}
  ~StubDevice() override { attached().Clear(); }

  std::string kind() const override { return kStubKind; }
  std::string name() const override { return "stub " + std::to_string(index_); }

  void* Allocate(int64_t bytes) override { return OnStub(host_->Allocate(bytes)); }
  void Free(void* memory) noexcept override { host_->Free(OnHost(memory)); }
  void CopyFromHost(void* to, const void* from, int64_t bytes) override {
    host_->CopyFromHost(OnHost(to), from, bytes);
  }
  void CopyToHost(void* to, const void* from, int64_t bytes) override {
    host_->CopyToHost(to, OnHost(from), bytes);
  }
  void Zero(void* memory, int64_t bytes) override { host_->Zero(OnHost(memory), bytes); }
  void Synchronize() override {}
  int64_t bytes_in_use() const override { return host_->bytes_in_use(); }
  int64_t peak_bytes() const override { return host_->peak_bytes(); }

  // Returns the device that owns the memory and computes.
  Device* host() const { return host_.get(); }

 private:
  const int index_;
  const std::unique_ptr<Device> host_ = MakeCpuDevice();
};

// Returns StubDevice::host() of `device`, which must be a stub.
inline Device* HostBehind(Device* device) { return static_cast<StubDevice*>(device)->host(); }

}  // namespace doppio

#endif  // DOPPIO_TESTS_BACKENDS_STUB_STUB_DEVICE_H_

#include "core/device/device.h"

namespace doppio {
namespace {

// For devices that execute work immediately.
class ImmediateDownload : public Download {
 public:
  ImmediateDownload(Device* device, int64_t bytes) : device_(device), memory_(bytes) {}
  void Start(int64_t offset, const void* from, int64_t bytes) override {
    device_->CopyToHost(memory_.data() + offset, from, bytes);
  }
  const char* Wait() override { return memory_.data(); }

 private:
  Device* const device_;
  std::vector<char> memory_;
};

bool HasDevices(const DeviceBackend& backend) {
  try {
    return !backend.list().empty();
  } catch (const DeviceError&) {
    return false;
  }
}

}  // namespace

std::unique_ptr<Download> Device::MakeDownload(int64_t bytes) {
  return std::make_unique<ImmediateDownload>(this, bytes);
}

void Device::CopyFromPeer(Device* peer, void* to, const void* from, int64_t bytes) {
  std::vector<char> host(static_cast<size_t>(bytes));
  peer->CopyToHost(host.data(), from, bytes);
  CopyFromHost(to, host.data(), bytes);
}

void Device::CopyToPeer(Device* peer, void* to, const void* from, int64_t bytes) {
  std::vector<char> host(static_cast<size_t>(bytes));
  CopyToHost(host.data(), from, bytes);
  peer->CopyFromHost(to, host.data(), bytes);
}

const DeviceBackend* FindDeviceBackend() {
  const std::vector<std::string> kinds = DeviceBackends::Get().Names();
  for (const std::string& kind : kinds) {
    const DeviceBackend* backend = DeviceBackends::Get().Find(kind);
    if (kinds.size() == 1 || HasDevices(*backend)) return backend;
  }
  return kinds.empty() ? nullptr : DeviceBackends::Get().Find(kinds[0]);
}

const DeviceBackend& LinkedDeviceBackend(const std::string& advice) {
  const DeviceBackend* backend = FindDeviceBackend();
  if (backend != nullptr) return *backend;
  throw DeviceError(
      "this build of Doppio has no GPU support, because CUDA was not found when it was built; ",
      advice);
}

}  // namespace doppio

// Times work on a stub. The host's clock serves, because the stub executes each call at once.
#include "core/base/clock.h"
#include "core/device/device_clock.h"
#include "tests/backends/stub/stub_device.h"

namespace doppio {
namespace {

class StubClock : public DeviceClock {
 public:
  explicit StubClock(Device* device) : device_(device) {}
  void Start() override {
    device_->Synchronize();
    moments_.clear();
  }
  int Mark() override {
    moments_.push_back(MonotonicNs());
    return static_cast<int>(moments_.size()) - 1;
  }
  std::vector<int64_t> Read() override { return std::exchange(moments_, {}); }

 private:
  Device* const device_;
  std::vector<int64_t> moments_;
};

std::unique_ptr<DeviceClock> MakeStubClock(Device* device) {
  return std::make_unique<StubClock>(device);
}

DOPPIO_REGISTER(DeviceClocks, kStubKind, &MakeStubClock);

}  // namespace
}  // namespace doppio

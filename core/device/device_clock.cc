#include "core/device/device_clock.h"

#include <utility>

#include "core/base/clock.h"

namespace doppio {
namespace {

class HostClock : public DeviceClock {
 public:
  void Start() override { moments_.clear(); }
  int Mark() override {
    moments_.push_back(MonotonicNs());
    return static_cast<int>(moments_.size()) - 1;
  }
  std::vector<int64_t> Read() override { return std::exchange(moments_, {}); }

 private:
  std::vector<int64_t> moments_;
};

}  // namespace

std::unique_ptr<DeviceClock> MakeDeviceClock(Device* device) {
  const auto* make = DeviceClocks::Get().Find(device->kind());
  if (make != nullptr) return (*make)(device);
  return std::make_unique<HostClock>();
}

}  // namespace doppio

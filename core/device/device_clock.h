// When a device does what it is asked for. A mark is put behind everything asked so far, and nobody
// waits for it; when it was reached is read later. Devices without a kind of clock of their own do
// everything at once, by the host's clock.
#ifndef DOPPIO_CORE_DEVICE_DEVICE_CLOCK_H_
#define DOPPIO_CORE_DEVICE_DEVICE_CLOCK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/registry.h"
#include "core/device/device.h"

namespace doppio {

// Used by the thread that asks the device.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  // Waits for the device and compares its clock with the host's.
  virtual void Start() = 0;
  // Returns the mark's number: 0 for the first after Start or Read, then 1 and so on.
  virtual int Mark() = 0;
  // Waits for the last mark. When each was reached, in ns of MonotonicNs (core/base/timeline.h).
  virtual std::vector<int64_t> Read() = 0;
};

// `device` outlives the clock.
std::unique_ptr<DeviceClock> MakeDeviceClock(Device* device);

// By Name(DeviceKind).
using DeviceClocks = Registry<std::unique_ptr<DeviceClock> (*)(Device* device)>;

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_DEVICE_CLOCK_H_

// Measures when a device executes its work. Mark() puts a mark behind all work given to the device
// so far and does not block; Read() later returns the time at which the device reached each mark.
// Devices without a registered clock execute work immediately, so the host's clock serves them.
#ifndef DOPPIO_CORE_DEVICE_DEVICE_CLOCK_H_
#define DOPPIO_CORE_DEVICE_DEVICE_CLOCK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/registry.h"
#include "core/device/device.h"

namespace doppio {

// Used only by the thread that gives work to the device. Not thread-safe.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  // Synchronises with the device and aligns its clock with the host's. Discards all marks.
  virtual void Start() = 0;
  // Returns the index of the mark: 0 for the first mark after Start or Read, then 1 and so on.
  virtual int Mark() = 0;
  // Blocks until the device has reached the last mark. Returns the time of each mark in ns of
  // MonotonicNs (core/base/clock.h) and discards the marks.
  virtual std::vector<int64_t> Read() = 0;
};

// Returns a clock for `device`, which must outlive it.
std::unique_ptr<DeviceClock> MakeDeviceClock(Device* device);

// Keyed by Device::kind().
using DeviceClocks = Registry<std::unique_ptr<DeviceClock> (*)(Device* device)>;

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_DEVICE_CLOCK_H_

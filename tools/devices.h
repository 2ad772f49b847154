// From --gpu to a device.
#ifndef DOPPIO_TOOLS_DEVICES_H_
#define DOPPIO_TOOLS_DEVICES_H_

#include <memory>
#include <optional>
#include <string>

#include "core/device/device.h"
#include "core/tensor/dtype.h"

namespace doppio {

// The CPU for "", else the one GPU that `gpu` ("0", "all") names. DeviceError says why it cannot be
// used.
std::unique_ptr<Device> OpenDevice(const std::string& gpu);

// What --precision asks activations to be stored as; nothing without the flag.
std::optional<DType> StoredFromFlags();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DEVICES_H_

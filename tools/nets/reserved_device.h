// A device for planning without memory.
#ifndef DOPPIO_TOOLS_NETS_RESERVED_DEVICE_H_
#define DOPPIO_TOOLS_NETS_RESERVED_DEVICE_H_

#include <memory>

#include "core/device/device.h"

namespace doppio {

// Returns a CPU device that reserves address space without allocating memory: the system provides
// pages only when they are written. A plan made on this device shows how much memory a net needs,
// even if the net is too large for the machine.
std::unique_ptr<Device> MakeReservedDevice();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_RESERVED_DEVICE_H_

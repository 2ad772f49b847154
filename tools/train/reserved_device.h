// A CPU device whose memory is only reserved: addresses without pages behind them until something
// writes there. A plan made on it tells how much memory a net needs on any machine, however big the
// net is.
#ifndef DOPPIO_TOOLS_TRAIN_RESERVED_DEVICE_H_
#define DOPPIO_TOOLS_TRAIN_RESERVED_DEVICE_H_

#include <memory>

#include "core/device/device.h"

namespace doppio {

std::unique_ptr<Device> MakeReservedDevice();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_RESERVED_DEVICE_H_

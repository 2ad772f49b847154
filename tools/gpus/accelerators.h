// Finds this machine's GPUs for commands that show them.
#ifndef DOPPIO_TOOLS_GPUS_ACCELERATORS_H_
#define DOPPIO_TOOLS_GPUS_ACCELERATORS_H_

#include <string>
#include <vector>

#include "core/device/device.h"

namespace doppio {

struct Accelerators {
  std::vector<DeviceInfo> devices;
  std::string none;  // why `devices` is empty, if it is
};

// Lists the GPUs that CUDA finds. Does not throw: an error becomes the reason in `none`.
Accelerators FindAccelerators();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_GPUS_ACCELERATORS_H_

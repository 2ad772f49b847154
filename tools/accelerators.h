// The GPUs of this machine as the commands show them.
#ifndef DOPPIO_TOOLS_ACCELERATORS_H_
#define DOPPIO_TOOLS_ACCELERATORS_H_

#include <string>
#include <vector>

#include "core/device/device.h"

namespace doppio {

struct Accelerators {
  std::vector<DeviceInfo> devices;
  std::string none;  // why there are none
};

Accelerators FindAccelerators();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ACCELERATORS_H_

// Lists the GPUs of this machine and checks whether this program can use them. These queries create
// no context on a GPU.
#ifndef DOPPIO_CORE_DEVICE_GPUS_CUDA_H_
#define DOPPIO_CORE_DEVICE_GPUS_CUDA_H_

#include <string>
#include <vector>

#include "core/device/device.h"

namespace doppio {

// Returns all GPUs that CUDA shows. Throws DeviceError, with advice, if there is no driver, if
// there is no GPU, or if the driver is too old.
std::vector<DeviceInfo> ListGpus();

// Returns GPU number `index`. Throws DeviceError if this GPU does not exist (the message lists
// those that do) or cannot be used.
DeviceInfo UsableGpu(int index);

// Returns why a driver that supports CUDA version `supported` cannot run a program that needs CUDA
// version `needed` (13000 is 13.0), with advice. `installed` is the driver's own version, or "" if
// unknown.
std::string WhyDriverTooOld(int supported, int needed, const std::string& installed);

// Returns "" if code compiled for `archs` (see CompiledArchs) runs on a device of this compute
// capability, else the reason why it does not.
std::string WhyNoCode(int major, int minor, const std::vector<int>& archs);

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_GPUS_CUDA_H_

// Which GPUs this machine shows, and whether this program can use them. Asking creates nothing on
// them.
#ifndef DOPPIO_CORE_DEVICE_GPUS_CUDA_H_
#define DOPPIO_CORE_DEVICE_GPUS_CUDA_H_

#include <vector>

#include "core/device/device.h"

namespace doppio {

// Throws DeviceError, with what to do, when there is no driver, no GPU, or the driver is too old.
std::vector<DeviceInfo> ListGpus();

// The GPU of this number. Throws DeviceError, naming those that exist, when there is none or it
// cannot be used.
DeviceInfo UsableGpu(int index);

// Empty, or why code compiled for `archs` (as CompiledArchs) does not run on this compute
// capability.
std::string WhyNoCode(int major, int minor, const std::vector<int>& archs);

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_GPUS_CUDA_H_

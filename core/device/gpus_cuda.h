// Which GPUs this machine shows, and whether this program can use them. Asking creates nothing on
// them.
#ifndef DOPPIO_CORE_DEVICE_GPUS_CUDA_H_
#define DOPPIO_CORE_DEVICE_GPUS_CUDA_H_

#include <string>
#include <vector>

#include "core/device/device.h"

namespace doppio {

// Throws DeviceError, with what to do, when there is no driver, no GPU, or the driver is too old.
std::vector<DeviceInfo> ListGpus();

// The GPU of this number. Throws DeviceError, naming those that exist, when there is none or it
// cannot be used.
DeviceInfo UsableGpu(int index);

// Why a driver that supports CUDA `supported` does not run a program of CUDA `needed` (13000 is
// 13.0), and what to do. `installed` is the driver's own version, or empty.
std::string WhyDriverTooOld(int supported, int needed, const std::string& installed);

// Empty, or why code compiled for `archs` (as CompiledArchs) does not run on this compute
// capability.
std::string WhyNoCode(int major, int minor, const std::vector<int>& archs);

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_GPUS_CUDA_H_

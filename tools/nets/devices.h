// Chooses and opens devices.
#ifndef DOPPIO_TOOLS_NETS_DEVICES_H_
#define DOPPIO_TOOLS_NETS_DEVICES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/tensor/dtype.h"
#include "parallel/world/launcher.h"
#include "tools/cli/options.h"

namespace doppio {

// The GPUs that this process uses.
struct ChosenGpus {
  std::vector<int> indices;  // CUDA device indices, one per rank of the process; empty: the CPU
  // Keeps other processes from claiming the same idle GPUs; null if none were claimed.
  std::shared_ptr<void> claim;
};

// Chooses GPUs. `gpu` is a list ("0", "0,1"; two ranks share a GPU that occurs twice), "all",
// "free:N" (N idle GPUs), or "" for the CPU. If a launcher started several processes, each gets one
// GPU: the process with local rank r gets entry r of the list, modulo its length. Throws UsageError
// if `gpu` is malformed, and DeviceError with the reason if the GPUs are not available.
ChosenGpus ChooseGpus(const std::string& gpu, const Launch& launch = Launch());

// Prepares the backend if the threads of this process will use several GPUs
// (DeviceBackend::prepare_for_several). Throws UsageError.
void PrepareForSeveralGpus(const std::string& gpu);

// Throws DeviceError if one of the chosen GPUs cannot be used by this process. Does not allocate
// anything on the GPUs.
void CheckGpus(const std::string& gpu, const ChosenGpus& chosen);

// Opens one configured device per chosen GPU, or the CPU if none is chosen. The devices share
// ownership of `chosen.claim`. Throws DeviceError, or UsageError for a wrong option.
std::vector<std::unique_ptr<Device>> OpenDevices(const DeviceOptions& options,
                                                 const ChosenGpus& chosen);

// Opens and configures GPU number `index`. Throws DeviceError.
std::unique_ptr<Device> OpenGpu(const DeviceOptions& options, int index);

// Opens the CPU, or the single GPU that `options.gpu` names, for commands that use one device.
// Throws DeviceError if it names several GPUs.
std::unique_ptr<Device> OpenDevice(const DeviceOptions& options);

// Returns the type in which activations are stored with a --precision, or nothing if `precision` is
// "". Throws UsageError for an unknown precision.
std::optional<DType> StoredType(const std::string& precision);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_DEVICES_H_

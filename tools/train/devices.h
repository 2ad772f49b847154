// From --gpu to devices.
#ifndef DOPPIO_TOOLS_TRAIN_DEVICES_H_
#define DOPPIO_TOOLS_TRAIN_DEVICES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/tensor/dtype.h"
#include "parallel/world/launcher.h"

namespace doppio {

// What --gpu comes to for this process.
struct ChosenGpus {
  std::vector<int> indices;     // as CUDA counts, one for each rank of the process; none: the CPU
  std::shared_ptr<void> claim;  // keeps others from the same free ones
};

// `gpu` is a list ("0", "0,1"; one that comes twice is shared by two ranks), "all", "free:2" (idle
// ones), or "" for the CPU. A process of a launcher gets one: those of a machine go through the
// list by their local rank. Throws UsageError; DeviceError says why there are none.
ChosenGpus ChooseGpus(const std::string& gpu, const Launch& launch = Launch());

// For a process whose threads use the GPUs of `gpu` together, before anything asks CUDA: where
// these are several, sets CUDA_MODULE_LOADING=EAGER unless the user has set it. Loading a kernel at
// its first launch waits for the GPU, which may itself wait for an all-reduce's kernel on another
// GPU that the loading holds up. Throws UsageError.
void LoadKernelsAtOnceForSeveral(const std::string& gpu);

// Throws DeviceError where one of them cannot be used here. Makes nothing on them.
void CheckGpus(const std::string& gpu, const ChosenGpus& chosen);

// One device for each, or the CPU, set up as the flags say; they keep the claim. Throws
// DeviceError.
std::vector<std::unique_ptr<Device>> OpenDevices(const std::string& gpu, const ChosenGpus& chosen);

// The CPU, or the one GPU that `gpu` names, for commands that use no more.
std::unique_ptr<Device> OpenDevice(const std::string& gpu);

// What --precision asks activations to be stored as; nothing without the flag.
std::optional<DType> StoredFromFlags();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_DEVICES_H_

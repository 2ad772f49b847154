// The device and the seed for nets and solvers that are created later. Scripts choose the device
// with set_mode_gpu() and set_device(), and the seed with set_random_seed(). Thread-safe.
#ifndef DOPPIO_PYTHON_DEVICES_H_
#define DOPPIO_PYTHON_DEVICES_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "core/device/device.h"

namespace doppio {

// Selects the CPU, which is the default, or the GPU of the last ChooseGpu, by default GPU 0.
void UseGpu(bool gpu);
void ChooseGpu(int index);

void ChooseSeed(uint64_t seed);
std::optional<uint64_t> ChosenSeed();  // nullopt before the first ChooseSeed

// Returns the chosen device, and opens it if it is not open. All callers share the device as long
// as one of them owns it. Throws DeviceError.
std::shared_ptr<Device> ChosenDevice();

}  // namespace doppio

#endif  // DOPPIO_PYTHON_DEVICES_H_

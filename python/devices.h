// The device that nets and solvers are made for next: scripts choose it once, with set_mode_gpu()
// and set_device(). And their seed, with set_random_seed().
#ifndef DOPPIO_PYTHON_DEVICES_H_
#define DOPPIO_PYTHON_DEVICES_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "core/device/device.h"

namespace doppio {

void UseCpu();
void UseGpu();  // the one that was chosen last, at first 0
void ChooseGpu(int index);

void ChooseSeed(uint64_t seed);
std::optional<uint64_t> ChosenSeed();

// Made by the first call and shared by all that ask while it lives. Throws DeviceError.
std::shared_ptr<Device> ChosenDevice();

}  // namespace doppio

#endif  // DOPPIO_PYTHON_DEVICES_H_

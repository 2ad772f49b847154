// Finds the GPU that tests run on, if there is one.
#ifndef DOPPIO_TESTS_CORE_DEVICE_FIRST_GPU_H_
#define DOPPIO_TESTS_CORE_DEVICE_FIRST_GPU_H_

#include <memory>
#include <string>

#include "core/base/error.h"
#include "core/device/device.h"

namespace doppio {

// Returns the first GPU. If the machine has no usable GPU, returns null and writes the reason to
// `*why`. Only builds with CUDA compile such tests, so the backend is always registered.
inline std::unique_ptr<Device> FirstGpu(std::string* why) {
  try {
    return DeviceBackends::Get().Find("CUDA")->make(0);
  } catch (const DeviceError& e) {
    *why = e.message();
    return nullptr;
  }
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_CORE_DEVICE_FIRST_GPU_H_

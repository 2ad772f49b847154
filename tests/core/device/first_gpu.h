// The GPU that tests run on, where there is one.
#ifndef DOPPIO_TESTS_CORE_DEVICE_FIRST_GPU_H_
#define DOPPIO_TESTS_CORE_DEVICE_FIRST_GPU_H_

#include <memory>
#include <string>

#include "core/base/error.h"
#include "core/device/device.h"

namespace doppio {

// Null, and `why`, when this machine has none that can be used. A build without CUDA has no such
// tests, so the backend is there.
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

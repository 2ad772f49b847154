#include "core/device/gpu_monitor.h"

namespace doppio {

std::unique_ptr<GpuMonitor> OpenGpuMonitor() {
  const std::vector<std::string> names = GpuMonitors::Get().Names();
  for (const std::string& name : names) {
    try {
      return (*GpuMonitors::Get().Find(name))();
    } catch (const DeviceError&) {
      if (name == names.back()) throw;
    }
  }
  throw DeviceError("this build of Doppio knows no library that reports the state of GPUs");
}

}  // namespace doppio

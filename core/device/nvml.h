// NVIDIA's management library (NVML), part of the driver.
#ifndef DOPPIO_CORE_DEVICE_NVML_H_
#define DOPPIO_CORE_DEVICE_NVML_H_

#include <optional>
#include <string>
#include <vector>

#include "core/device/gpu_monitor.h"

namespace doppio {

class Nvml : public GpuMonitor {
 public:
  // Throws DeviceError if the library is missing, is too old, or finds no driver.
  explicit Nvml(const std::string& file = "libnvidia-ml.so.1");
  ~Nvml() override;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string name() const override { return "NVML"; }
  std::string driver_version() const override;
  // Includes GPUs that CUDA_VISIBLE_DEVICES hides from CUDA.
  std::vector<Handle> Gpus() const override;
  std::optional<Handle> Find(const std::string& pci_bus_id) const override;
  std::string NameOf(Handle gpu) const override;
  GpuReading Read(Handle gpu) const override;

 private:
  struct Utilization {
    unsigned int gpu, memory;
  };
  struct Memory {
    unsigned long long total, free, used;
  };
  using Result = int;  // 0: success

  const char* (*error_string_)(Result) = nullptr;
  Result (*init_)() = nullptr;
  Result (*shutdown_)() = nullptr;
  Result (*by_pci_bus_id_)(const char*, Handle*) = nullptr;
  // Null if the library lacks the function.
  Result (*system_driver_version_)(char*, unsigned int) = nullptr;
  Result (*count_)(unsigned int*) = nullptr;
  Result (*by_index_)(unsigned int, Handle*) = nullptr;
  Result (*name_)(Handle, char*, unsigned int) = nullptr;
  Result (*utilization_)(Handle, Utilization*) = nullptr;
  Result (*memory_)(Handle, Memory*) = nullptr;
  Result (*power_)(Handle, unsigned int*) = nullptr;        // milliwatts
  Result (*power_limit_)(Handle, unsigned int*) = nullptr;  // milliwatts
  Result (*temperature_)(Handle, int, unsigned int*) = nullptr;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_NVML_H_

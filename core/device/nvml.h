// The NVIDIA driver's management library: how busy, full, hot and thirsty a GPU is. It comes with
// the driver and is opened at run time, in CPU builds too; what a board or a driver does not tell
// is absent and never an error.
#ifndef DOPPIO_CORE_DEVICE_NVML_H_
#define DOPPIO_CORE_DEVICE_NVML_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace doppio {

// Of one moment.
struct GpuReading {
  // Of the driver's last sampling period the share in which some kernel ran.
  std::optional<double> utilization_percent;
  std::optional<int64_t> memory_used_bytes, memory_total_bytes;  // by all processes
  std::optional<double> power_watts, power_limit_watts;
  std::optional<double> temperature_celsius;
};

// Safe from any thread.
class Nvml {
 public:
  // A GPU as the library knows it.
  using Handle = void*;

  // Throws DeviceError when the library is not there, is too old, or finds no driver.
  explicit Nvml(const std::string& file = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;  // "580.65.06"; "" when it does not say
  // All that the driver shows. CUDA_VISIBLE_DEVICES hides none here, so CUDA's numbers are other
  // ones.
  std::vector<Handle> Gpus() const;
  // The GPU that CUDA calls so ("0000:3B:00.0"), or nothing.
  std::optional<Handle> Find(const std::string& pci_bus_id) const;
  std::string NameOf(Handle gpu) const;  // "" when it does not say
  GpuReading Read(Handle gpu) const;

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
  // Null where the library has no such function.
  Result (*system_driver_version_)(char*, unsigned int) = nullptr;
  Result (*count_)(unsigned int*) = nullptr;
  Result (*by_index_)(unsigned int, Handle*) = nullptr;
  Result (*name_)(Handle, char*, unsigned int) = nullptr;
  Result (*utilization_)(Handle, Utilization*) = nullptr;
  Result (*memory_)(Handle, Memory*) = nullptr;
  Result (*power_)(Handle, unsigned int*) = nullptr;        // milliwatts
  Result (*power_limit_)(Handle, unsigned int*) = nullptr;  // likewise
  Result (*temperature_)(Handle, int, unsigned int*) = nullptr;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_NVML_H_

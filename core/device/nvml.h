// NVIDIA's management library (NVML): utilisation, memory, temperature and power of GPUs. The
// library is part of the driver and is opened at run time, in CPU-only builds too. Values that a
// board or a driver does not report are absent; this is not an error.
#ifndef DOPPIO_CORE_DEVICE_NVML_H_
#define DOPPIO_CORE_DEVICE_NVML_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace doppio {

// The state of a GPU at one moment.
struct GpuReading {
  // Percentage of the driver's last sampling period in which at least one kernel was running.
  std::optional<double> utilization_percent;
  std::optional<int64_t> memory_used_bytes, memory_total_bytes;  // total of all processes
  std::optional<double> power_watts, power_limit_watts;
  std::optional<double> temperature_celsius;
};

// Thread-safe.
class Nvml {
 public:
  // NVML's identifier of a GPU.
  using Handle = void*;

  // Throws DeviceError if the library is missing, is too old, or finds no driver.
  explicit Nvml(const std::string& file = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;  // "580.65.06"; "" if unknown
  // Returns all GPUs that the driver shows, including those that CUDA_VISIBLE_DEVICES hides from
  // CUDA. The order can therefore differ from CUDA's device numbers.
  std::vector<Handle> Gpus() const;
  // Returns the GPU with CUDA's identifier `pci_bus_id` ("0000:3B:00.0"), or nullopt if there is
  // none.
  std::optional<Handle> Find(const std::string& pci_bus_id) const;
  std::string NameOf(Handle gpu) const;  // "" if unknown
  // Returns the current state of `gpu`.
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

#include "core/device/nvml.h"

#include "core/base/error.h"
#include "core/base/shared_library.h"

namespace doppio {
namespace {

constexpr int kSuccess = 0;
constexpr int kTemperatureOfTheChip = 0;
// Minimum buffer sizes that NVML's documentation requires.
constexpr unsigned int kVersionLength = 80, kNameLength = 96;

template <class F, class... Args>
bool Ask(F* function, Args... args) {
  return function != nullptr && function(args...) == kSuccess;
}

}  // namespace

Nvml::Nvml(const std::string& file) {
  const SharedLibrary library("NVML", file, "it comes with the NVIDIA driver");
  library.SetRequired(&init_, "nvmlInit_v2");
  library.SetRequired(&shutdown_, "nvmlShutdown");
  library.SetRequired(&error_string_, "nvmlErrorString");
  library.SetRequired(&by_pci_bus_id_, "nvmlDeviceGetHandleByPciBusId_v2");
  library.SetOptional(&system_driver_version_, "nvmlSystemGetDriverVersion");
  library.SetOptional(&count_, "nvmlDeviceGetCount_v2");
  library.SetOptional(&by_index_, "nvmlDeviceGetHandleByIndex_v2");
  library.SetOptional(&name_, "nvmlDeviceGetName");
  library.SetOptional(&utilization_, "nvmlDeviceGetUtilizationRates");
  library.SetOptional(&memory_, "nvmlDeviceGetMemoryInfo");
  library.SetOptional(&power_, "nvmlDeviceGetPowerUsage");
  library.SetOptional(&power_limit_, "nvmlDeviceGetEnforcedPowerLimit");
  library.SetOptional(&temperature_, "nvmlDeviceGetTemperature");
  const Result result = init_();
  if (result != kSuccess) {
    throw DeviceError("NVML (", library.path(), ") does not start: ", error_string_(result));
  }
}

Nvml::~Nvml() { shutdown_(); }

std::string Nvml::driver_version() const {
  char text[kVersionLength] = "";
  return Ask(system_driver_version_, text, kVersionLength) ? text : "";
}

std::vector<GpuMonitor::Handle> Nvml::Gpus() const {
  std::vector<Handle> gpus;
  unsigned int count = 0;
  if (!Ask(count_, &count)) return gpus;
  for (unsigned int i = 0; i < count; ++i) {
    Handle gpu = nullptr;
    if (Ask(by_index_, i, &gpu)) gpus.push_back(gpu);
  }
  return gpus;
}

std::optional<GpuMonitor::Handle> Nvml::Find(const std::string& pci_bus_id) const {
  Handle gpu = nullptr;
  if (!Ask(by_pci_bus_id_, pci_bus_id.c_str(), &gpu)) return std::nullopt;
  return gpu;
}

std::string Nvml::NameOf(Handle gpu) const {
  char text[kNameLength] = "";
  return Ask(name_, gpu, text, kNameLength) ? text : "";
}

GpuReading Nvml::Read(Handle gpu) const {
  GpuReading reading;
  Utilization utilization{};
  if (Ask(utilization_, gpu, &utilization)) reading.utilization_percent = utilization.gpu;
  Memory memory{};
  if (Ask(memory_, gpu, &memory)) {
    reading.memory_used_bytes = static_cast<int64_t>(memory.used);
    reading.memory_total_bytes = static_cast<int64_t>(memory.total);
  }
  unsigned int milliwatts = 0, degrees = 0;
  if (Ask(power_, gpu, &milliwatts)) reading.power_watts = milliwatts / 1e3;
  if (Ask(power_limit_, gpu, &milliwatts)) reading.power_limit_watts = milliwatts / 1e3;
  if (Ask(temperature_, gpu, kTemperatureOfTheChip, &degrees))
    reading.temperature_celsius = degrees;
  return reading;
}

namespace {

std::unique_ptr<GpuMonitor> OpenNvml() { return std::make_unique<Nvml>(); }

DOPPIO_REGISTER(GpuMonitors, "NVML", &OpenNvml);

}  // namespace
}  // namespace doppio

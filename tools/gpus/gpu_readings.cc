#include "tools/gpus/gpu_readings.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/device/gpu_monitor.h"
#include "tools/cli/text_table.h"

namespace doppio {
namespace {

// Returns "97 %", or "" if there is no value.
std::string With(const std::optional<double>& value, const char* unit) {
  return value ? Fixed(*value, 0) + " " + unit : "";
}

std::string JoinFound(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : separator) + part;
  }
  return text;
}

std::string Power(const GpuReading& reading) {
  if (!reading.power_watts || !reading.power_limit_watts) return With(reading.power_watts, "W");
  return Fixed(*reading.power_watts, 0) + " of " + With(reading.power_limit_watts, "W");
}

std::string Memory(const GpuReading& reading) {
  if (!reading.memory_used_bytes || !reading.memory_total_bytes) return "";
  return Bytes(*reading.memory_used_bytes) + " of " + Bytes(*reading.memory_total_bytes) +
         " in use";
}

template <class T>
nlohmann::json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace

std::unique_ptr<GpuWatch> WatchGpu(const Device& device) {
  const std::string bus_id = device.properties.pci_bus_id;
  if (bus_id.empty()) return nullptr;
  std::shared_ptr<GpuMonitor> monitor;
  ErrorCollector errors;
  if (!errors.Try([&] { monitor = OpenGpuMonitor(); })) {
    LOG(INFO) << device.name() << " is not watched: " << errors.errors()[0].message();
    return nullptr;
  }
  const std::optional<GpuMonitor::Handle> gpu = monitor->Find(bus_id);
  if (!gpu) {
    LOG(INFO) << device.name() << " is not watched: " << monitor->name() << " does not know "
              << bus_id;
    return nullptr;
  }
  return std::make_unique<GpuWatch>([monitor, gpu] { return monitor->Read(*gpu); });
}

std::string ShortText(const GpuReading& reading, bool utf8) {
  const std::string numbers = JoinFound(
      {With(reading.utilization_percent, "%"), With(reading.temperature_celsius, utf8 ? "°C" : "C"),
       With(reading.power_watts, "W")},
      " ");
  return numbers.empty() ? "" : "GPU " + numbers;
}

std::string LongText(const GpuReading& reading) {
  return JoinFound({With(reading.utilization_percent, "% busy"), Memory(reading),
                    With(reading.temperature_celsius, "°C"), Power(reading)},
                   ", ");
}

std::string Text(const GpuSummary& summary) {
  const std::string most = JoinFound(
      {With(summary.peak_temperature_celsius, "°C"), With(summary.peak_power_watts, "W")}, " and ");
  const std::string numbers =
      JoinFound({With(summary.mean_utilization_percent, "% busy on average"),
                 most.empty() ? "" : "at most " + most},
                ", ");
  return numbers.empty() ? "" : "GPU " + numbers;
}

nlohmann::json ToJson(const GpuReading& reading) {
  return {{"utilization_percent", OrNull(reading.utilization_percent)},
          {"memory_used_bytes", OrNull(reading.memory_used_bytes)},
          {"memory_total_bytes", OrNull(reading.memory_total_bytes)},
          {"temperature_celsius", OrNull(reading.temperature_celsius)},
          {"power_watts", OrNull(reading.power_watts)},
          {"power_limit_watts", OrNull(reading.power_limit_watts)}};
}

nlohmann::json ToJson(const GpuSummary& summary) {
  return {{"readings", summary.readings},
          {"mean_utilization_percent", OrNull(summary.mean_utilization_percent)},
          {"peak_temperature_celsius", OrNull(summary.peak_temperature_celsius)},
          {"peak_power_watts", OrNull(summary.peak_power_watts)}};
}

}  // namespace doppio

// What NVML says about GPUs, as the commands show it: in words and as JSON. Numbers that a board
// does not tell are left out of words and null in JSON.
#ifndef DOPPIO_TOOLS_CLUSTER_GPU_READINGS_H_
#define DOPPIO_TOOLS_CLUSTER_GPU_READINGS_H_

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/device/device.h"
#include "core/device/gpu_watch.h"

namespace doppio {

// Watches a device from now on. Null for what is no GPU and, with a line in the log, where NVML
// does not know it.
std::unique_ptr<GpuWatch> WatchGpu(const Device& device);

// "GPU 97 % 61 °C 540 W"; "" when there are no numbers.
std::string ShortText(const GpuReading& reading, bool utf8);
// "97 % busy, 512.0 MiB of 80.0 GiB in use, 61 °C, 540 of 700 W"
std::string LongText(const GpuReading& reading);
// "GPU 97 % busy on average, at most 61 °C and 540 W"; "" when there are no numbers.
std::string Text(const GpuSummary& summary);

nlohmann::json ToJson(const GpuReading& reading);
nlohmann::json ToJson(const GpuSummary& summary);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_GPU_READINGS_H_

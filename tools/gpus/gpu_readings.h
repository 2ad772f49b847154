// Readings of GPUs as text and as JSON. Numbers that a board does not report are left out of
// the text and null in the JSON.
#ifndef DOPPIO_TOOLS_GPUS_GPU_READINGS_H_
#define DOPPIO_TOOLS_GPUS_GPU_READINGS_H_

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/device/device.h"
#include "core/device/gpu_watch.h"

namespace doppio {

// Starts to watch a device. Returns null if it is not a GPU, or, with a line in the log, if no
// GpuMonitor can be opened or the monitor does not know it.
std::unique_ptr<GpuWatch> WatchGpu(const Device& device);

// Returns "GPU 97 % 61 °C 540 W", with "C" for "°C" unless `utf8`; "" if there are no numbers.
std::string ShortText(const GpuReading& reading, bool utf8);
// Returns "97 % busy, 512.0 MiB of 80.0 GiB in use, 61 °C, 540 of 700 W".
std::string LongText(const GpuReading& reading);
// Returns "GPU 97 % busy on average, at most 61 °C and 540 W"; "" if there are no numbers.
std::string Text(const GpuSummary& summary);

nlohmann::json ToJson(const GpuReading& reading);
nlohmann::json ToJson(const GpuSummary& summary);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_GPUS_GPU_READINGS_H_

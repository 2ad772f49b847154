#include "tools/devices.h"

#include "core/base/error.h"
#include "tools/flags.h"

namespace doppio {
namespace {

int Ordinal(const std::string& text, const std::string& gpu) {
  if (text.find_first_not_of("0123456789") != std::string::npos || text.size() > 6) {
    throw UsageError("--gpu=" + gpu + ": '" + text + "' is not the number of a GPU; use 0, 0,1 or all");
  }
  return std::stoi(text);
}

std::string Count(const std::vector<DeviceInfo>& devices) {
  return devices.size() == 1 ? "1 GPU (number 0)"
                             : std::to_string(devices.size()) + " GPUs (numbers 0 to " +
                                   std::to_string(devices.size() - 1) + ")";
}

}  // namespace

std::unique_ptr<Device> OpenDevice(const std::string& gpu) {
  if (gpu.empty()) return MakeCpuDevice();
  const DeviceBackend* cuda = DeviceBackends::Get().Find("CUDA");
  if (cuda == nullptr) {
    throw DeviceError("--gpu=" + gpu + ": this build of Doppio has no GPU support, because no CUDA was found when "
                      "it was built; leave --gpu out to use the CPU");
  }
  const std::vector<DeviceInfo> found = cuda->list();
  if (found.empty()) {
    throw DeviceError("--gpu=" + gpu + ": no GPU is visible; leave --gpu out to use the CPU");
  }
  std::vector<int> wanted;
  if (gpu == "all") {
    for (const DeviceInfo& device : found) {
      if (device.unusable.empty()) wanted.push_back(device.index);
    }
  } else {
    for (const std::string& text : SplitList(gpu)) wanted.push_back(Ordinal(text, gpu));
  }
  if (wanted.size() != 1) {
    throw DeviceError("--gpu=" + gpu + " names " + std::to_string(wanted.size()) +
                      " GPUs; this version uses one at a time");
  }
  for (const DeviceInfo& device : found) {
    if (device.index != wanted[0]) continue;
    if (!device.unusable.empty()) {
      throw DeviceError("GPU " + std::to_string(device.index) + " (" + device.name +
                        ") cannot be used: " + device.unusable);
    }
    return cuda->make(device.index);
  }
  throw DeviceError("there is no GPU " + std::to_string(wanted[0]) + "; this machine shows " + Count(found));
}

}  // namespace doppio

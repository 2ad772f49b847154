#include "tools/devices.h"

#include "core/base/error.h"
#include "tools/flags.h"

namespace doppio {
namespace {

int Ordinal(const std::string& text, const std::string& gpu) {
  if (text.find_first_not_of("0123456789") != std::string::npos || text.size() > 6) {
    throw UsageError("--gpu=" + gpu + ": '" + text +
                     "' is not the number of a GPU; use 0, 0,1 or all");
  }
  return std::stoi(text);
}

// The numbers that are written; none for "all".
std::vector<int> WrittenOrdinals(const std::string& gpu) {
  std::vector<int> ordinals;
  if (gpu == "all") return ordinals;
  for (const std::string& text : SplitList(gpu)) ordinals.push_back(Ordinal(text, gpu));
  return ordinals;
}

// Of the one GPU that is named.
int OnlyOrdinal(const DeviceBackend& backend, const std::string& gpu, std::vector<int> ordinals) {
  if (gpu == "all") {
    for (const DeviceInfo& device : backend.list()) {
      if (device.unusable.empty()) ordinals.push_back(device.index);
    }
  }
  if (ordinals.size() == 1) return ordinals[0];
  throw DeviceError("it names " + std::to_string(ordinals.size()) +
                    " usable GPUs; this version uses one at a time");
}

}  // namespace

std::unique_ptr<Device> OpenDevice(const std::string& gpu) {
  if (gpu.empty()) return MakeCpuDevice();
  // A mistake in the flag is one in every build.
  const std::vector<int> ordinals = WrittenOrdinals(gpu);
  try {
    const DeviceBackend* cuda = DeviceBackends::Get().Find("CUDA");
    if (cuda != nullptr) return cuda->make(OnlyOrdinal(*cuda, gpu, ordinals));
    throw DeviceError(
        "this build of Doppio has no GPU support, because no CUDA was found when it was built; "
        "leave --gpu out to use the CPU");
  } catch (const DeviceError& e) {
    RethrowWithContext(e, SourceLoc(), "--gpu=" + gpu);
  }
}

}  // namespace doppio

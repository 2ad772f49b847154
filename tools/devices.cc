#include "tools/devices.h"

#include <cstdlib>

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

// For tests: with DOPPIO_GPU_STAND_IN=1 every GPU is the host in its place, where CUDA code runs slowly.
bool StandsIn() {
  const char* value = std::getenv("DOPPIO_GPU_STAND_IN");
  return value != nullptr && std::string(value) == "1";
}

void SetUp(Device* gpu) {
  gpu->set_math(FLAGS_precision == "tf32" ? MathMode::kTf32 : MathMode::kFloat32);
  gpu->set_workspace_bytes(int64_t{FLAGS_workspace_mb} << 20);
  gpu->set_deterministic(FLAGS_deterministic);
  gpu->set_records(FLAGS_cuda_graph);
}

}  // namespace

std::optional<DType> StoredFromFlags() {
  const std::string& name = FLAGS_precision;
  if (name.empty()) return std::nullopt;
  if (name == "fp32" || name == "tf32") return DType::kFloat32;
  if (name == "bf16") return DType::kBFloat16;
  if (name == "fp16") return DType::kFloat16;
  throw UsageError("--precision wants fp32, tf32, bf16 or fp16, got '" + name + "'");
}

std::unique_ptr<Device> OpenDevice(const std::string& gpu) {
  StoredFromFlags();
  if (FLAGS_workspace_mb < 0) throw UsageError("--workspace_mb must not be negative");
  if (gpu.empty()) {
    if (FLAGS_precision == "tf32") {
      throw UsageError("--precision=tf32 is for GPUs; the CPU has fp32, bf16 and fp16");
    }
    return MakeCpuDevice();
  }
  // A mistake in the flag is one in every build.
  const std::vector<int> ordinals = WrittenOrdinals(gpu);
  try {
    const DeviceBackend* cuda = DeviceBackends::Get().Find("CUDA");
    if (cuda != nullptr) {
      std::unique_ptr<Device> device = StandsIn() ? (*StandInDevices::Get().Find("CUDA"))()
                                                  : cuda->make(OnlyOrdinal(*cuda, gpu, ordinals));
      SetUp(device.get());
      return device;
    }
    throw DeviceError(
        "this build of Doppio has no GPU support, because no CUDA was found when it was built; "
        "leave --gpu out to use the CPU");
  } catch (const DeviceError& e) {
    RethrowWithContext(e, SourceLoc(), "--gpu=" + gpu);
  }
}

}  // namespace doppio

#include "tools/nets/devices.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/text/whole_number.h"
#include "core/device/gpu_monitor.h"
#include "core/net/contract/combinations.h"
#include "tools/cli/flags.h"
#include "tools/cli/word_list.h"
#include "tools/gpus/free_gpus.h"

namespace doppio {
namespace {

constexpr const char* kFree = "free:";

// A parsed --gpu. Parsing does not depend on a backend, so that every build reports errors in the
// flag.
struct Wish {
  bool all = false;
  int free = 0;              // the number of idle GPUs to use
  std::vector<int> indices;  // the listed indices
};

int Number(const std::string& text, const std::string& gpu, const char* what) {
  constexpr int kMost = 999'999;
  const std::optional<int64_t> number = ParseWholeNumber(text);
  if (!number || *number > kMost) {
    throw UsageError("--gpu=" + gpu + ": '" + text + "' is not the number of " + what +
                     "; use 0, 0,1, all or free:2");
  }
  return static_cast<int>(*number);
}

Wish Parse(const std::string& gpu) {
  Wish wish;
  if (gpu == "all") {
    wish.all = true;
  } else if (gpu.compare(0, std::string(kFree).size(), kFree) == 0) {
    wish.free = Number(gpu.substr(std::string(kFree).size()), gpu, "GPUs");
    if (wish.free < 1) throw UsageError("--gpu=" + gpu + " needs 1 GPU or more");
  } else {
    for (const std::string& text : SplitList(gpu))
      wish.indices.push_back(Number(text, gpu, "a GPU"));
    if (wish.indices.empty())
      throw UsageError("--gpu=" + gpu + " names no GPU; use 0, 0,1, all or free:2");
  }
  return wish;
}

const DeviceBackend& Backend() { return LinkedDeviceBackend("omit --gpu to use the CPU"); }

// Returns all GPUs that this program can use. Throws DeviceError if there are none.
std::vector<DeviceInfo> UsableGpus() {
  std::vector<DeviceInfo> gpus;
  std::string others;
  for (const DeviceInfo& gpu : Backend().list()) {
    if (gpu.unusable.empty()) {
      gpus.push_back(gpu);
    } else {
      others += "; GPU " + std::to_string(gpu.index) + " (" + gpu.name + "): " + gpu.unusable;
    }
  }
  if (gpus.empty()) throw DeviceError("no GPU can be used" + others);
  return gpus;
}

ChosenGpus Free(int count) {
  const std::unique_ptr<GpuMonitor> monitor = OpenGpuMonitor();
  std::vector<GpuCandidate> candidates;
  for (const DeviceInfo& gpu : UsableGpus()) {
    candidates.push_back({gpu.index, gpu.pci_bus_id, monitor->ReadAt(gpu.pci_bus_id)});
  }
  const ClaimedGpus claimed = ClaimFreeGpus(candidates, count);
  return {claimed.indices, claimed.claim};
}

ChosenGpus Choose(const Wish& wish) {
  if (wish.free > 0) return Free(wish.free);
  ChosenGpus chosen{wish.indices, nullptr};
  if (wish.all) {
    for (const DeviceInfo& gpu : UsableGpus()) chosen.indices.push_back(gpu.index);
  }
  return chosen;
}

// An attachment that keeps a claim for as long as its device exists.
struct Claim {
  explicit Claim(Device*) {}
  std::shared_ptr<void> held;
};

// Only rank 0 warns, about its own machine, because the machines of a job are usually alike.
void WarnOfIdleGpus(const std::string& gpu, const Launch& launch, size_t gpus) {
  const size_t processes = launch.local_size;
  if (launch.rank != 0 || !launch.local_size_known || processes >= gpus) return;
  LOG(WARNING) << "--gpu=" << gpu << " names " << gpus << " GPUs, but " << launch.launcher
               << " has started " << processes
               << " process(es) on this machine, and each process uses one GPU: "
               << gpus - processes << " of them stay idle. To use them, start " << gpus
               << " processes per machine";
}

}  // namespace

std::optional<DType> StoredType(const std::string& precision) {
  if (precision.empty()) return std::nullopt;
  CheckValue("precision", precision, {"fp32", "tf32", "bf16", "fp16"});
  if (precision == "bf16") return DType::kBFloat16;
  return precision == "fp16" ? DType::kFloat16 : DType::kFloat32;
}

void PrepareForSeveralGpus(const std::string& gpu) {
  if (gpu.empty()) return;
  const Wish wish = Parse(gpu);
  const DeviceBackend* const backend = FindDeviceBackend();
  if (backend == nullptr || backend->prepare_for_several == nullptr) return;
  if (wish.all || wish.free > 1 || wish.indices.size() > 1) backend->prepare_for_several();
}

ChosenGpus ChooseGpus(const std::string& gpu, const Launch& launch) {
  if (gpu.empty()) return {};
  const Wish wish = Parse(gpu);
  if (launch.size > 1 && wish.free > 1) {
    throw UsageError("--gpu=" + gpu + ": each process of " + launch.launcher +
                     " uses one GPU; give free:1 and start one process for each GPU");
  }
  try {
    ChosenGpus chosen = Choose(wish);
    if (launch.size > 1) {
      WarnOfIdleGpus(gpu, launch, chosen.indices.size());
      const size_t place = static_cast<size_t>(launch.local_rank) % chosen.indices.size();
      chosen.indices = {chosen.indices[place]};
    }
    return chosen;
  } catch (const DeviceError& e) {
    RethrowWithContext(e, SourceLoc(), "--gpu=" + gpu);
  }
}

void CheckGpus(const std::string& gpu, const ChosenGpus& chosen) {
  if (chosen.indices.empty()) return;
  try {
    std::vector<std::string> usable;
    for (const DeviceInfo& info : UsableGpus()) usable.push_back(std::to_string(info.index));
    for (const int index : chosen.indices) {
      const std::string name = std::to_string(index);
      if (Contains(usable, name)) continue;
      throw DeviceError("GPU " + name + " cannot be used; usable GPUs are " + Join(usable, ", "));
    }
  } catch (const DeviceError& e) {
    RethrowWithContext(e, SourceLoc(), gpu);
  }
}

std::unique_ptr<Device> OpenGpu(const DeviceOptions& options, int index) {
  std::unique_ptr<Device> device = Backend().make(index);
  device->settings.math = options.precision == "tf32" ? MathMode::kTf32 : MathMode::kFloat32;
  device->settings.workspace_bytes = int64_t{options.workspace_mb} << 20;
  device->settings.deterministic = options.deterministic;
  device->settings.records = options.cuda_graph;
  return device;
}

std::vector<std::unique_ptr<Device>> OpenDevices(const DeviceOptions& options,
                                                 const ChosenGpus& chosen) {
  StoredType(options.precision);
  AtLeast("workspace_mb", options.workspace_mb, 0);
  Features features;
  features.AddIf(options.precision == "tf32", Feature::kTf32);
  features.AddIf(!chosen.indices.empty(), Feature::kGpu);
  CheckCombinations(features);
  std::vector<std::unique_ptr<Device>> devices;
  try {
    for (int index : chosen.indices) {
      devices.push_back(OpenGpu(options, index));
      devices.back()->attached().Get<Claim>("claim").held = chosen.claim;
    }
  } catch (const DeviceError& e) {
    RethrowWithContext(e, SourceLoc(), "--gpu=" + options.gpu);
  }
  if (devices.empty()) devices.push_back(MakeCpuDevice());
  return devices;
}

std::unique_ptr<Device> OpenDevice(const DeviceOptions& options) {
  const ChosenGpus chosen = ChooseGpus(options.gpu);
  if (chosen.indices.size() > 1) {
    throw DeviceError("--gpu=" + options.gpu + " names " + std::to_string(chosen.indices.size()) +
                      " GPUs, but this command uses only one");
  }
  return std::move(OpenDevices(options, chosen)[0]);
}

}  // namespace doppio

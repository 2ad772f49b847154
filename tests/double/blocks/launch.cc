#include "tests/double/blocks/launch.h"

#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/double/blocks/emulator.h"
#include "tests/double/blocks/hooks.h"
#include "tests/double/blocks/kernel_name.h"
#include "tests/double/machine/counters.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/races.h"
#include "tests/double/machine/settings.h"
#include "tests/double/machine/streams.h"

namespace doppio::gpu_double {
namespace {

constexpr size_t kMostArguments = 4096;  // in bytes; every toolkit and GPU accepts this size

bool FitsGpu(const dim3& grid, const dim3& block) {
  const auto inside = [](unsigned size, unsigned most) { return size >= 1 && size <= most; };
  return inside(grid.x, 0x7fffffff) && inside(grid.y, 65535) && inside(grid.z, 65535) &&
         inside(block.x, 1024) && inside(block.y, 1024) && inside(block.z, 64) &&
         uint64_t{block.x} * block.y * block.z <= 1024;
}

uint3 Sizes(const dim3& d) { return {d.x, d.y, d.z}; }

std::vector<Access> RunKernel(const std::string& what, int device, const cudaLaunchConfig_t& config,
                              const KernelCall& call) {
  BeginKernel(what, device);
  WatchArguments(call.args.get(), call.args_bytes);
  const Body body = {[](const void* data) {
                       const auto* call = static_cast<const KernelCall*>(data);
                       call->call(call->kernel, call->args.get());
                     },
                     &call};
  RunBlocks(what, Sizes(config.gridDim), Sizes(config.blockDim), Random(~uint64_t{0}), body);
  int64_t bytes = 0;
  std::vector<Access> accesses = EndKernel(&bytes);
  Count(&Counters::kernel_bytes, bytes);
  CountKernel(what, bytes);
  return accesses;
}

// Applies `change` to every argument that is an address of device memory.
void ChangePointers(const KernelCall& call, const std::function<char*(char*)>& change) {
  char* const args = static_cast<char*>(const_cast<void*>(call.args.get()));
  for (size_t i = 0; i + sizeof(char*) <= call.args_bytes; i += sizeof(char*)) {
    char* at = nullptr;
    std::memcpy(&at, args + i, sizeof at);
    if (!IsDeviceAddress(at)) continue;
    at = change(at);
    std::memcpy(args + i, &at, sizeof at);
  }
}

// Makes the planted mistakes (planted.h) that affect a launch.
void PlantMistakes(cudaLaunchConfig_t* config, KernelCall* planted) {
  const KernelCall& call = *planted;
  if (Planted("launch-too-large")) config->blockDim.x *= 64;
  if (Planted("misaligned-pack")) ChangePointers(call, [](char* at) { return at + 4; });
  if (Planted("misaligned-number")) ChangePointers(call, [](char* at) { return at + 1; });
  if (Planted("kernel-host-pointer")) {
    static char* const host = new char[1 << 20];
    ChangePointers(call, [](char*) { return host; });
  }
  if (Planted("kernel-past-end")) {
    ChangePointers(call, [](char* at) {
      Block block;
      return FindBlock(at, &block) ? block.begin + block.bytes : at;
    });
  }
  if (Planted("stale-argument")) {
    std::vector<const void*> key = {call.kernel};  // then the addresses of its memory
    ChangePointers(call, [&](char* at) {
      key.push_back(at);
      return at;
    });
    static std::mutex mutex;
    static auto& first = *new std::map<std::vector<const void*>, std::shared_ptr<const void>>;
    const std::lock_guard<std::mutex> lock(mutex);
    planted->args = first.emplace(std::move(key), call.args).first->second;
  }
}

}  // namespace

cudaError_t LaunchKernel(const cudaLaunchConfig_t& asked, KernelCall call) {
  cudaLaunchConfig_t config = asked;
  PlantMistakes(&config, &call);
  if (!FitsGpu(config.gridDim, config.blockDim)) return cudaErrorInvalidConfiguration;
  if (call.args_bytes > kMostArguments) return cudaErrorInvalidValue;
  const std::string what = KernelName(call.kernel);
  if (config.dynamicSmemBytes != 0 || config.numAttrs != 0)
    Fault("unsupported", what + ": dynamic shared memory and launch attributes are not emulated");
  Work work;
  work.what = what;
  work.counter = &Counters::kernels;
  const int device = CurrentDevice();
  work.run = [what, device, config, call = std::move(call)] {
    return RunKernel(what, device, config, call);
  };
  return Enqueue(config.stream, std::move(work));
}

}  // namespace doppio::gpu_double

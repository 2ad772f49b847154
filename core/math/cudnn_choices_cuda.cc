#include <cstdlib>

#include "core/device/device_cuda.h"
#include "core/math/cudnn.h"
#include "core/math/cudnn_choices.h"

namespace doppio {
namespace {

struct GpuModel {
  explicit GpuModel(Device* device) {
    CudaStream(device);  // makes the device current
    int index = 0;
    Cuda(cudaGetDevice(&index), "asking for the current GPU");
    cudaDeviceProp gpu;
    Cuda(cudaGetDeviceProperties(&gpu, index), "asking for the name of", device->name());
    name = gpu.name;
  }
  std::string name;
};

}  // namespace

bool MeasuresCudnn(const Device& device) {
  const char* asked = std::getenv("DOPPIO_CUDNN_MEASURE");
  return !device.deterministic() && (asked == nullptr || std::string(asked) != "0");
}

AlgorithmCache& CudnnChoices(const Device& device) {
  static AlgorithmCache measured(UserCacheFile("cudnn_algorithms.json")), advised("");
  return MeasuresCudnn(device) ? measured : advised;
}

std::string CudnnChoiceKey(Device* device, const std::string& what) {
  return device->Attached<GpuModel>("gpu model").name + ", cuDNN " +
         std::to_string(Cudnn().cudnnGetVersion()) + ", " + what + ", " +
         std::to_string(device->workspace_bytes()) + " bytes" +
         (device->deterministic() ? ", deterministic" : "");
}

std::string WhyNoCudnn(const Device& device, const std::string& direction) {
  return StrCat("cuDNN has no ", direction, " algorithm for it within ",
                device.workspace_bytes() >> 20, " MiB of workspace",
                device.deterministic() ? " that is deterministic" : "");
}

}  // namespace doppio

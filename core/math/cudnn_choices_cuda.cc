#include <cstdlib>
#include <sstream>

#include "core/device/device_cuda.h"
#include "core/math/cudnn.h"
#include "core/math/cudnn_choices.h"

namespace doppio {
namespace {

struct GpuModel {
  explicit GpuModel(Device* device) {
    GpuOf(device);  // makes the device current
    int index = 0;
    Cuda(cudaGetDevice(&index), "asking for the current GPU");
    cudaDeviceProp gpu;
    Cuda(cudaGetDeviceProperties(&gpu, index), "asking for the name of", device->name());
    name = gpu.name;
  }
  std::string name;
};

// "3 1": the numbers of an algorithm.
std::string TextOf(const AlgorithmChoice& choice) {
  std::string text;
  for (int64_t number : choice) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

AlgorithmChoice ChoiceOf(const std::string& text) {
  std::istringstream in(text);
  AlgorithmChoice choice;
  for (int64_t number = 0; in >> number;) choice.push_back(number);
  return choice;
}

}  // namespace

bool MeasuresCudnn(const Device& device) {
  const char* asked = std::getenv("DOPPIO_CUDNN_MEASURE");
  return !device.settings.deterministic && (asked == nullptr || std::string(asked) != "0");
}

AlgorithmCache& CudnnChoices(const Device& device) {
  static AlgorithmCache measured(UserCacheFile("cudnn_algorithms.json")), advised("");
  return MeasuresCudnn(device) ? measured : advised;
}

std::optional<CachedChoice> FindCudnnChoice(Device* device, const std::string& key,
                                            const AlgorithmCache::Measure& measure) {
  AlgorithmCache& cache = CudnnChoices(*device);
  if (!MeasuresCudnn(*device)) return cache.FindOrMeasure(key, measure);
  MeasuredChoices& own = device->measured_choices();
  const std::optional<std::string> replayed = own.Find(key);
  std::optional<CachedChoice> choice =
      replayed ? CachedChoice{ChoiceOf(*replayed)} : cache.FindOrMeasure(key, measure);
  if (choice) own.Note(key, TextOf(choice->choice));
  return choice;
}

void StoreCudnnChoice(Device* device, const std::string& key, const CachedChoice& choice) {
  CudnnChoices(*device).Store(key, choice);
  if (MeasuresCudnn(*device)) device->measured_choices().Note(key, TextOf(choice.choice));
}

std::string CudnnChoiceKey(Device* device, const std::string& what) {
  return device->attached().Get<GpuModel>("gpu model").name + ", cuDNN " +
         std::to_string(Cudnn().cudnnGetVersion()) + ", " + what + ", " +
         std::to_string(device->settings.workspace_bytes) + " bytes" +
         (device->settings.deterministic ? ", deterministic" : "");
}

std::string WhyNoCudnn(const Device& device, const std::string& direction) {
  return StrCat("cuDNN has no ", direction, " algorithm for it within ",
                device.settings.workspace_bytes >> 20, " MiB of workspace",
                device.settings.deterministic ? " that is deterministic" : "");
}

}  // namespace doppio

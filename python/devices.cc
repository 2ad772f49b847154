#include "python/devices.h"

#include <map>
#include <mutex>

#include "core/base/error.h"

namespace doppio {
namespace {

constexpr int kHost = -1;  // key of the CPU among the indices of GPUs

struct Choice {
  std::mutex mutex;
  bool gpu = false;
  int index = 0;
  std::optional<uint64_t> seed;
  std::map<int, std::weak_ptr<Device>> devices;
};

Choice& ChoiceOfScript() {
  // Never destroyed, because nets of a script outlive static objects.
  static Choice* choice = new Choice;
  return *choice;
}

std::unique_ptr<Device> Open(int index) {
  if (index == kHost) return MakeCpuDevice();
  return LinkedDeviceBackend("call set_mode_cpu()").make(index);
}

}  // namespace

void UseGpu(bool gpu) {
  const std::lock_guard<std::mutex> lock(ChoiceOfScript().mutex);
  ChoiceOfScript().gpu = gpu;
}

void ChooseGpu(int index) {
  if (index < 0) throw UsageError("set_device needs the index of a GPU; got ", index);
  const std::lock_guard<std::mutex> lock(ChoiceOfScript().mutex);
  ChoiceOfScript().index = index;
}

void ChooseSeed(uint64_t seed) {
  const std::lock_guard<std::mutex> lock(ChoiceOfScript().mutex);
  ChoiceOfScript().seed = seed;
}

std::optional<uint64_t> ChosenSeed() {
  const std::lock_guard<std::mutex> lock(ChoiceOfScript().mutex);
  return ChoiceOfScript().seed;
}

std::shared_ptr<Device> ChosenDevice() {
  Choice& choice = ChoiceOfScript();
  const std::lock_guard<std::mutex> lock(choice.mutex);
  const int index = choice.gpu ? choice.index : kHost;
  std::weak_ptr<Device>& known = choice.devices[index];
  std::shared_ptr<Device> device = known.lock();
  if (device == nullptr) known = device = Open(index);
  return device;
}

}  // namespace doppio

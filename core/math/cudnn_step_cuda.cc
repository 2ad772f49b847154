#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/device/device_cuda.h"
#include "core/math/cudnn_choices.h"
#include "core/math/cudnn_step.h"

namespace doppio {
namespace {

constexpr size_t kMeasured = 8;  // plans that are compared
// In which they are made: nets have dozens of convolutions, and the best advice comes first.
constexpr std::chrono::seconds kPatience(3);
constexpr int kRuns = 5;  // of each, after two that warm up

struct KnownSteps {
  explicit KnownSteps(Device*) {}
  std::map<std::string, std::shared_ptr<CudnnGraphStep>> by_key;
};

class Event {
 public:
  Event() { Cuda(cudaEventCreate(&event_), "making an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void Record(cudaStream_t stream) { Cuda(cudaEventRecord(event_, stream), "recording an event"); }
  float MsSince(const Event& start) const {
    Cuda(cudaEventSynchronize(event_), "waiting for an event");
    float ms = 0;
    Cuda(cudaEventElapsedTime(&ms, start.event_, event_), "taking a time");
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Not the device's, which would keep it for blocks of the same size, and count it.
class MeasuringMemory {
 public:
  // Throws DeviceError when there is none left.
  explicit MeasuringMemory(int64_t bytes) {
    Cuda(cudaMalloc(&data_, static_cast<size_t>(std::max<int64_t>(1, bytes))),
         "taking memory to measure in");
  }
  ~MeasuringMemory() { cudaFree(data_); }
  MeasuringMemory(MeasuringMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// The fastest of `plans`; null when none of them runs, or there is no memory to run them in.
std::unique_ptr<CudnnPlan> Fastest(Device* device, std::vector<std::unique_ptr<CudnnPlan>>* plans,
                                   const std::vector<CudnnGraphStep::Memory>& memory) try {
  const cudaStream_t stream = CudaStream(device);
  std::vector<MeasuringMemory> buffers;
  std::vector<CudnnPlan::Place> places;
  for (const CudnnGraphStep::Memory& tensor : memory) {
    buffers.emplace_back(tensor.bytes);
    Cuda(cudaMemsetAsync(buffers.back().data(), 0, static_cast<size_t>(tensor.bytes), stream),
         "clearing memory");
    places.push_back({tensor.role, buffers.back().data()});
  }
  int64_t most = 0;
  for (const auto& plan : *plans) most = std::max(most, plan->workspace_bytes());
  const MeasuringMemory workspace(most);
  Event start, end;
  std::unique_ptr<CudnnPlan>* best = nullptr;
  float least_ms = 0;
  for (auto& plan : *plans) {
    try {
      for (int i = 0; i < 2 + kRuns; ++i) {
        if (i == 2) start.Record(stream);
        plan->Run(places, workspace.data(), "a measurement");
      }
      end.Record(stream);
      const float ms = end.MsSince(start);
      if (best != nullptr && ms >= least_ms) continue;
      best = &plan;
      least_ms = ms;
    } catch (const DeviceError&) {
      // Not this one, then.
    }
  }
  if (best == nullptr) return nullptr;
  (*best)->ForgetPlaces();
  return std::move(*best);
} catch (const DeviceError&) {
  return nullptr;
}

}  // namespace

std::shared_ptr<CudnnGraphStep> CudnnGraphStep::Find(Device* device, const std::string& key,
                                                     const Describe& describe,
                                                     const std::vector<Memory>& memory) {
  // Before what is kept beside it: plans may not outlive the handle that they are made with.
  const CudnnTarget target{CudnnHandle(device), nullptr};
  auto& known = device->Attached<KnownSteps>("cudnn graphs").by_key;
  const std::string full_key = CudnnChoiceKey(device, key);
  const auto found = known.find(full_key);
  if (found != known.end()) return found->second;
  std::shared_ptr<CudnnGraphStep> step(new CudnnGraphStep(describe(target)));
  step->Choose(device, full_key, memory);
  if (step->plan_ == nullptr) step = nullptr;
  return known[full_key] = step;
}

void CudnnGraphStep::Choose(Device* device, const std::string& key,
                            const std::vector<Memory>& memory) {
  const CudnnAdvice advice(graph_, {device->workspace_bytes(), device->deterministic()});
  AlgorithmCache& choices = CudnnChoices(*device);
  if (const auto kept = choices.Find(key)) plan_ = advice.Chosen(*kept);
  if (plan_ != nullptr) return;
  if (!MeasuresCudnn(*device)) {
    std::vector<std::unique_ptr<CudnnPlan>> plans = advice.Best(1);
    if (!plans.empty()) plan_ = std::move(plans[0]);
    return;
  }
  std::vector<std::unique_ptr<CudnnPlan>> plans = advice.Best(kMeasured, kPatience);
  plan_ = Fastest(device, &plans, memory);
  if (plan_ != nullptr) {
    choices.Keep(key, plan_->choice());
  } else if (!plans.empty()) {
    plan_ = std::move(plans[0]);
  }
}

}  // namespace doppio

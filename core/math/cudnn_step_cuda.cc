#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/device/device_cuda.h"
#include "core/math/cudnn_choices.h"
#include "core/math/cudnn_step.h"

namespace doppio {
namespace {

constexpr size_t kMeasured = 8;  // number of plans to compare

struct KnownSteps {
  explicit KnownSteps(Device*) {}
  std::map<std::string, std::shared_ptr<CudnnGraphStep>> by_key;
};

// Returns the fastest of `plans`, or null if none runs or if there is not enough memory to run
// them.
std::unique_ptr<CudnnPlan> Fastest(Device* device, std::vector<std::unique_ptr<CudnnPlan>>* plans,
                                   const std::vector<CudnnTimer::Memory>& memory) try {
  int64_t most = 0;
  for (const auto& plan : *plans) most = std::max(most, plan->workspace_bytes());
  CudnnTimer timer(device, memory, most);
  std::unique_ptr<CudnnPlan>* best = nullptr;
  float least_ms = 0;
  for (auto& plan : *plans) {
    try {
      const float ms =
          timer.Ms([&] { plan->Run(timer.places(), timer.workspace(), "a measurement"); });
      if (best != nullptr && ms >= least_ms) continue;
      best = &plan;
      least_ms = ms;
    } catch (const DeviceError&) {
      // This plan does not run; try the others.
    }
  }
  if (best == nullptr) return nullptr;
  (*best)->ForgetAddresses();
  return std::move(*best);
} catch (const DeviceError&) {
  return nullptr;
}

}  // namespace

std::shared_ptr<CudnnGraphStep> CudnnGraphStep::Find(Device* device, const std::string& key,
                                                     const Describe& describe,
                                                     const std::vector<Memory>& memory,
                                                     CudnnHeuristics::Patience patience) {
  // The handle must be attached to the device before KnownSteps, because plans must not outlive the
  // handle with which they were created, and the device destroys attached objects in reverse order.
  const CudnnTarget target{CudnnHandle(device), nullptr};
  auto& known = device->attached().Get<KnownSteps>("cudnn graphs").by_key;
  const std::string full_key = CudnnChoiceKey(device, key);
  const auto found = known.find(full_key);
  if (found != known.end()) return found->second;
  std::shared_ptr<CudnnGraphStep> step(new CudnnGraphStep(describe(target), patience));
  step->Choose(device, full_key, memory);
  if (step->plan_ == nullptr) step = nullptr;
  return known[full_key] = step;
}

void CudnnGraphStep::Choose(Device* device, const std::string& key,
                            const std::vector<Memory>& memory) {
  const CudnnHeuristics heuristics(graph_, device->settings);
  const bool measures = MeasuresCudnn(*device);
  const auto race = [&](const std::optional<CachedChoice>& so_far) {
    return Race(device, heuristics, memory, so_far);
  };
  std::optional<CachedChoice> kept =
      measures ? FindCudnnChoice(device, key, race) : CudnnChoices(*device).Find(key);
  if (plan_ == nullptr && kept) plan_ = heuristics.PlanFor(kept->choice);
  if (plan_ == nullptr && kept && measures) {
    // The stored choice is invalid, or this GPU has not enough memory for its plan.
    kept = race(std::nullopt);
    if (kept) StoreCudnnChoice(device, key, *kept);
  } else if (plan_ == nullptr && !measures) {
    std::vector<std::unique_ptr<CudnnPlan>> plans = heuristics.Best(1);
    if (!plans.empty()) plan_ = std::move(plans[0]);
  }
  settled_ = !measures || (kept && kept->complete());
}

// Sets plan_. Returns nullopt if the plans could not be compared.
std::optional<CachedChoice> CudnnGraphStep::Race(Device* device, const CudnnHeuristics& heuristics,
                                                 const std::vector<Memory>& memory,
                                                 const std::optional<CachedChoice>& so_far) {
  std::unique_ptr<CudnnPlan> champion;
  if (so_far) champion = heuristics.PlanFor(so_far->choice);
  CudnnHeuristics::Plans next =
      heuristics.Best(kMeasured, patience_, champion != nullptr ? so_far->compared : 0);
  if (champion != nullptr) next.plans.insert(next.plans.begin(), std::move(champion));
  plan_ = Fastest(device, &next.plans, memory);
  if (plan_ == nullptr) {
    if (!next.plans.empty()) plan_ = std::move(next.plans[0]);
    return std::nullopt;
  }
  return CachedChoice{plan_->choice(), next.cut_short ? next.examined : CachedChoice::kAll};
}

}  // namespace doppio

// A graph together with the plan that runs it: the fastest plan measured, or the plan chosen
// earlier (cudnn_choices.h). Layers with identical computations share a step. Only *_cuda.cc files
// include this header.
#ifndef DOPPIO_CORE_MATH_CUDNN_STEP_H_
#define DOPPIO_CORE_MATH_CUDNN_STEP_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/math/cudnn_plan.h"
#include "core/math/cudnn_timer.h"

namespace doppio {

class CudnnGraphStep {
 public:
  // Role and size of each tensor of the graph, for measuring.
  using Memory = CudnnTimer::Memory;
  using Describe = std::function<CudnnGraph(const CudnnTarget& target)>;

  // Time limit for creating the plans to compare. Nets have dozens of convolutions, and the best
  // plans come first. Later processes compare the remaining plans.
  static constexpr std::chrono::seconds kPatience{3};

  // Returns the step for the computation that `key` names. The device shares ownership, so the same
  // key returns the same step as long as the device exists. Returns null if cuDNN has no plan
  // within the device's limits.
  static std::shared_ptr<CudnnGraphStep> Find(Device* device, const std::string& key,
                                              const Describe& describe,
                                              const std::vector<Memory>& memory,
                                              CudnnHeuristics::Patience patience = kPatience);

  // Returns true if later processes use the same plan: all plans have been compared, or nothing is
  // measured.
  bool settled() const { return settled_; }
  int64_t workspace_bytes() const { return plan_->workspace_bytes(); }
  void Run(const std::vector<CudnnPlan::Place>& places, void* workspace, const char* doing) {
    plan_->Run(places, workspace, doing);
  }
  // Discards the descriptors of all addresses, for addresses that will not be used again.
  void ForgetAddresses() { plan_->ForgetAddresses(); }

 private:
  CudnnGraphStep(CudnnGraph graph, CudnnHeuristics::Patience patience)
      : graph_(std::move(graph)), patience_(patience) {}
  void Choose(Device* device, const std::string& key, const std::vector<Memory>& memory);
  std::optional<CachedChoice> Race(Device* device, const CudnnHeuristics& heuristics,
                                   const std::vector<Memory>& memory,
                                   const std::optional<CachedChoice>& so_far);

  const CudnnGraph graph_;
  const CudnnHeuristics::Patience patience_;
  std::unique_ptr<CudnnPlan> plan_;
  bool settled_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_STEP_H_

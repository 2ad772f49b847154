// Finds the plans with which cuDNN can compute a graph: engines with their settings, best first
// according to cuDNN's heuristics. Only *_cuda.cc files include this header.
#ifndef DOPPIO_CORE_MATH_CUDNN_PLAN_H_
#define DOPPIO_CORE_MATH_CUDNN_PLAN_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/math/algorithm_cache.h"
#include "core/math/cudnn_graph.h"

namespace doppio {

// A compiled plan for one graph. Not thread-safe.
class CudnnPlan {
 public:
  // The address of a tensor of the graph.
  struct Place {
    CudnnRole role;
    const void* data;
    bool operator==(const Place& other) const { return role == other.role && data == other.data; }
  };
  // Runs the plan on the tensors at `places`, in the order of the handle's stream. `workspace` is
  // device memory of workspace_bytes() bytes. The plan keeps the descriptors of the last 64
  // combinations of addresses. Throws DeviceError.
  void Run(const std::vector<Place>& places, void* workspace, const char* doing);
  // Discards the descriptors of all addresses, for addresses that will not be used again.
  void ForgetAddresses() { packs_.clear(); }

  int64_t workspace_bytes() const { return workspace_bytes_; }
  // Returns the engine's number, followed by pairs of a setting and its value. The same version of
  // cuDNN creates the same plan from these numbers.
  const AlgorithmChoice& choice() const { return choice_; }

 private:
  friend class CudnnHeuristics;
  CudnnPlan(const CudnnTarget& target, std::vector<CudnnBackendDescriptor> parts,
            CudnnBackendDescriptor plan, int64_t workspace_bytes, AlgorithmChoice choice);

  struct Pack {
    std::vector<Place> places;
    void* workspace;
    CudnnBackendDescriptor pack;
  };
  const CudnnTarget target_;
  const std::vector<CudnnBackendDescriptor> parts_;  // the descriptors that plan_ refers to
  const CudnnBackendDescriptor plan_;
  const int64_t workspace_bytes_;
  const AlgorithmChoice choice_;
  std::deque<Pack> packs_;
};

// Creates plans for a graph, which must outlive the plans, within the limits of `settings`.
class CudnnHeuristics {
 public:
  CudnnHeuristics(const CudnnGraph& graph, const DeviceSettings& settings)
      : graph_(graph), settings_(settings) {}

  using Patience = std::chrono::steady_clock::duration;
  struct Plans {
    std::vector<std::unique_ptr<CudnnPlan>> plans;
    int64_t examined = 0;  // engine configurations examined or skipped
    // True if `patience` ended before `max_plans` plans were found or all configurations were
    // examined.
    bool cut_short = false;
  };
  // Returns the first `max_plans` plans that can be created, in the order of cuDNN's heuristics,
  // without the first `skipped` engine configurations. Creating some plans compiles code. After
  // `patience`, returns the plans created so far, but at least one if there is any.
  Plans Best(size_t max_plans, Patience patience, int64_t skipped) const;
  std::vector<std::unique_ptr<CudnnPlan>> Best(size_t max_plans,
                                               Patience patience = Patience::max()) const {
    return Best(max_plans, patience, 0).plans;
  }
  // Returns the plan for `choice`, or null if cuDNN cannot create it or if it exceeds the limits.
  std::unique_ptr<CudnnPlan> PlanFor(const AlgorithmChoice& choice) const;

 private:
  std::vector<CudnnBackendDescriptor> Configurations(cudnnBackendHeurMode_t mode) const;
  std::unique_ptr<CudnnPlan> MakePlan(std::vector<CudnnBackendDescriptor> parts) const;
  bool Permits(const CudnnBackendDescriptor& engine) const;

  const CudnnGraph& graph_;
  const DeviceSettings settings_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_PLAN_H_

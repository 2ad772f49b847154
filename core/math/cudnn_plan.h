// How cuDNN can compute a graph: its engines with their settings, best advice first, made ready to
// run. Only *_cuda.cc files include this.
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

// What an engine may do.
struct CudnnLimits {
  int64_t workspace_bytes = 0;
  bool deterministic = false;  // the same bits every time
};

class CudnnPlan {
 public:
  // Runs it on the tensors at `places`, in the order of the handle's stream. Places that
  // come again are described once, as long as no more than 64 others come between.
  struct Place {
    CudnnRole role;
    const void* data;
    bool operator==(const Place& other) const { return role == other.role && data == other.data; }
  };
  void Run(const std::vector<Place>& places, void* workspace, const char* doing);
  // They will not come again.
  void ForgetPlaces() { packs_.clear(); }

  int64_t workspace_bytes() const { return workspace_bytes_; }
  // The engine's number, then pairs of a setting and its value: what the same version of cuDNN
  // makes the same plan from.
  const AlgorithmChoice& choice() const { return choice_; }

 private:
  friend class CudnnAdvice;
  CudnnPlan(const CudnnTarget& target, std::vector<CudnnThing> parts, CudnnThing plan,
            int64_t workspace_bytes, AlgorithmChoice choice);

  struct Pack {
    std::vector<Place> places;
    void* workspace;
    CudnnThing pack;
  };
  const CudnnTarget target_;
  const std::vector<CudnnThing> parts_;  // what the plan was made from lives as long
  const CudnnThing plan_;
  const int64_t workspace_bytes_;
  const AlgorithmChoice choice_;
  std::deque<Pack> packs_;
};

// Plans for a graph, which outlives them.
class CudnnAdvice {
 public:
  CudnnAdvice(const CudnnGraph& graph, const CudnnLimits& limits)
      : graph_(graph), limits_(limits) {}

  // The first `most` that can be made, as advised, leaving out `skipped` pieces of advice. Some
  // engines are compiled for their plan: where `patience` is over, those that are made by then, but
  // one at least.
  using Patience = std::chrono::steady_clock::duration;
  struct Plans {
    std::vector<std::unique_ptr<CudnnPlan>> plans;
    int64_t looked_at = 0;   // pieces of advice, with those left out
    bool cut_short = false;  // patience was over before `most` plans or all advice
  };
  Plans Best(size_t most, Patience patience, int64_t skipped) const;
  std::vector<std::unique_ptr<CudnnPlan>> Best(size_t most,
                                               Patience patience = Patience::max()) const {
    return Best(most, patience, 0).plans;
  }
  // The one of this choice; null when there is none such, or it exceeds the limits.
  std::unique_ptr<CudnnPlan> Chosen(const AlgorithmChoice& choice) const;

 private:
  std::vector<CudnnThing> Configurations(cudnnBackendHeurMode_t mode) const;
  std::unique_ptr<CudnnPlan> MakePlan(std::vector<CudnnThing> parts) const;
  bool Permits(const CudnnThing& engine) const;

  const CudnnGraph& graph_;
  const CudnnLimits limits_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_PLAN_H_

// What a forward pass takes with it when it continues in another plan, after a layer has changed
// the shape of a top: which nodes have run, and copies of what running them again does not restore.
#ifndef DOPPIO_CORE_NET_RUN_CARRIED_PASS_H_
#define DOPPIO_CORE_NET_RUN_CARRIED_PASS_H_

#include <map>
#include <optional>
#include <vector>

#include "core/math/tensor_ops.h"
#include "core/net/graph/graph.h"
#include "core/net/plan/plan.h"

namespace doppio {

// Empty unless a pass continues in another plan. Not thread-safe.
class CarriedPass {
 public:
  // Saves the tensors of `plan` whose values the next plan, which uses the same memory, takes over:
  // the tops of nodes that cannot run again, and the first elements of the gradients of losses.
  // Nodes that are `done` have run in this pass.
  void Save(const Graph& graph, const Plan& plan, const std::vector<bool>& done);
  // Takes over what running forward again does not restore: saved tensors, positions and states.
  // The nodes that are `done` are repeated from now on.
  void Continue(const Graph& graph, const Plan& before, const Plan& now, std::vector<bool> done);

  // Reports whether the step is the forward of a layer that has run in this pass.
  bool Repeats(const PlanStep& step) const;
  // Runs such a step without side effects: sources are copied, and sinks are skipped.
  void Repeat(const PlanStep& step, const Graph& graph, const Plan& plan, Pass* pass) const;

  bool empty() const { return repeated_.empty() && tops_.empty() && weights_.empty(); }
  // Requires that the devices do not work with the copies any more.
  void Clear();

 private:
  struct SavedTensor {
    SavedTensor(const Tensor& tensor, Device* device);
    Buffer memory;
    Tensor copy;
  };

  void RestoreTops(int node, const Plan& plan) const;

  std::vector<bool> repeated_;
  std::map<int, std::vector<SavedTensor>> tops_;
  std::vector<std::optional<SavedTensor>> weights_;  // per loss of the plan
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_CARRIED_PASS_H_

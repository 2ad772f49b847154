#include "core/net/run/layer_range.h"

namespace doppio {

bool LayerRange::IsWhole() const {
  return first_ == 0 && last_ + 1 == static_cast<int>(net_.graph().nodes.size());
}

void LayerRange::Forward() const {
  if (IsWhole()) {
    net_.Forward();
  } else {
    Run(net_.plan().forward, false);
  }
}

void LayerRange::Backward() const {
  if (IsWhole()) {
    net_.Backward(true);
  } else {
    Run(net_.plan().backward, true);
  }
}

void LayerRange::Run(const std::vector<PlanStep>& steps, bool accumulate) const {
  for (const PlanStep& step : steps) {
    const bool inside = step.node >= first_ && step.node <= last_;
    if (inside || (!step.backward && ReadsResultOf(step))) net_.passes().RunStep(step, accumulate);
  }
}

// Returns true if a layer of the range reads the result of `reorder`. A reorder belongs to the
// first layer that needs it, which may be before the range.
bool LayerRange::ReadsResultOf(const PlanStep& reorder) const {
  if (reorder.kind != StepKind::kReorder || reorder.node >= first_) return false;
  const Plan& plan = net_.plan();
  for (int n = first_; n <= last_; ++n) {
    const Node& node = net_.graph().nodes[n];
    const std::vector<Tensor>& read = plan.tensors[n].bottoms;
    for (size_t i = 0; i < read.size(); ++i) {
      const Tensor& made = plan.values[node.bottoms[i]];
      if (read[i].raw == reorder.to.raw && made.raw == reorder.from.raw) return true;
    }
  }
  return false;
}

}  // namespace doppio

#include "core/net/run/running_plan.h"

#include <algorithm>
#include <utility>

namespace doppio {

RunningPlan::RunningPlan(const Graph& graph, std::unique_ptr<Plan> its_plan, Device* device)
    : plan(std::move(its_plan)),
      forward(*plan, plan->forward, device),
      replace(*plan, plan->backward, device),
      add_to(*plan, plan->backward, device),
      losses(plan->devices, plan->losses) {
  for (int edge : graph.outputs) {
    const Edge& e = graph.edges[edge];
    outputs.push_back({e.name, e.loss_weight, plan->values[edge], IsScore(graph, edge)});
  }
  for (const auto& kernel : plan->kernels) {
    if (auto* source = Capability<SampleSource>(kernel.get())) sources.push_back(source);
    changers.push_back(ChangerOf(kernel.get()));
  }
  const bool may_change = std::any_of(changers.begin(), changers.end(),
                                      [](const ChangesTops* layer) { return layer != nullptr; });
  if (!may_change) changers.clear();
}

bool RunningPlan::ChangedBy(const PlanStep& step) const {
  if (changers.empty() || step.kind != StepKind::kLayer || step.backward) return false;
  const ChangesTops* layer = changers[step.node];
  return layer != nullptr && layer->changed();
}

}  // namespace doppio

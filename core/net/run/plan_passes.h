// Runs the passes of one net: the steps of its plan in order. If a layer's forward changes the
// shapes of its tops, the pass continues in another plan.
#ifndef DOPPIO_CORE_NET_RUN_PLAN_PASSES_H_
#define DOPPIO_CORE_NET_RUN_PLAN_PASSES_H_

#include <memory>
#include <vector>

#include "core/net/run/carried_pass.h"
#include "core/net/run/running_plan.h"
#include "core/net/run/shape_plans.h"
#include "core/net/run/step_executor.h"
#include "core/net/store/params.h"

namespace doppio {

// Not thread-safe.
class PlanPasses {
 public:
  // Both pointers must outlive this object. A change of shapes changes `graph`.
  PlanPasses(Graph* graph, const PlanOptions& options, ParamStore* params);

  // See Net::StartForward and Net::Backward.
  void Forward();
  void Backward(bool accumulate, GradientSink* sink);
  // Call these after the steps of a pass where StagedPasses runs them.
  void EndForward();
  void EndBackward();
  // Runs one step of the plan by itself. Throws UserError if the step changes a shape.
  void RunStep(const PlanStep& step, bool accumulate = false);

  // Changes if a layer changes a shape.
  RunningPlan& running() const { return *running_; }
  StepExecutor& steps() { return executor_; }
  const PlanOptions& options() const { return plans_.options(); }
  // See Net::pass.
  Pass& pass() { return pass_; }
  const Pass& pass() const { return pass_; }

 private:
  void ForgetCarried();
  int RunForward();
  void Replan(int changer);
  void RunSources(int changer, std::vector<int>* changers);

  Graph& graph_;
  ParamStore& params_;
  Pass pass_;
  ShapePlans plans_;                      // those that do not run
  std::unique_ptr<RunningPlan> running_;  // never null
  CarriedPass carried_;                   // of the current forward
  StepExecutor executor_;
  float read_scale_ = 1;  // loss scale of the gradients that the readers of losses wrote last
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_PLAN_PASSES_H_

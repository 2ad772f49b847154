// Runs single steps of a net's plan, and shows them: in traces and in the log of debug_info.
#ifndef DOPPIO_CORE_NET_RUN_STEP_EXECUTOR_H_
#define DOPPIO_CORE_NET_RUN_STEP_EXECUTOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/math/tensor_ops.h"
#include "core/net/contract/gradient_sink.h"
#include "core/net/run/carried_pass.h"
#include "core/net/run/run_trace.h"
#include "core/net/run/running_plan.h"

namespace doppio {

// Not thread-safe.
class StepExecutor {
 public:
  // The arguments must outlive the executor. `pass` and `carried` are read by each step.
  StepExecutor(const Graph& graph, Pass* pass, const CarriedPass& carried);
  // Sets the plan whose steps run from now on.
  void Use(const RunningPlan& running);

  // Runs a step; one of backward adds to parameter gradients if `accumulate` is true. Tells `sink`,
  // if not null, of slices of a gradient. Errors carry the layer's name and place.
  void Run(const PlanStep& step, bool accumulate = false, GradientSink* sink = nullptr);
  // Runs a step and shows it.
  void RunShown(const PlanStep& step, bool accumulate = false, GradientSink* sink = nullptr);
  // Returns true if RunShown does more than Run.
  bool shows() const { return graph_.spec.debug_info || Traced(trace_); }
  // Makes each data source prepare the batch of the next forward.
  void StageSources();

  // See Net::SetLossScale.
  void SetLossScale(float scale);
  float loss_scale() const { return loss_scale_; }
  // Records each step while the trace is on; the net then runs step by step. `trace` must outlive
  // its use. Null turns recording off.
  void set_trace(RunTrace* trace) { trace_ = trace; }

 private:
  void RunLayer(const PlanStep& step, bool accumulate, GradientSink* sink);
  void RunSlices(const PlanStep& step, GradientSink* sink);
  void FillConstantGradients();
  std::string NameOf(const PlanStep& step) const;
  void RunTraced(const PlanStep& step, bool accumulate, GradientSink* sink);
  void TraceWait(int64_t begun_ns, double seconds);
  void LogMagnitudes(const PlanStep& step) const;

  const Graph& graph_;
  Pass& pass_;
  const CarriedPass& carried_;
  const RunningPlan* running_ = nullptr;
  const Plan* plan_ = nullptr;         // that of running_
  std::vector<const TensorOps*> ops_;  // of the plan's devices
  std::vector<bool> add_;              // scratch memory of Run, reserved once
  float loss_scale_ = 1;
  RunTrace* trace_ = nullptr;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_STEP_EXECUTOR_H_

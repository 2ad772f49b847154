// A plan with what its passes need beside it: runners of its steps, the reader of its losses, and
// the kernels with special interfaces. It can be put aside and used again later.
#ifndef DOPPIO_CORE_NET_RUN_RUNNING_PLAN_H_
#define DOPPIO_CORE_NET_RUN_RUNNING_PLAN_H_

#include <memory>
#include <string>
#include <vector>

#include "core/net/contract/changing_tops.h"
#include "core/net/contract/sample_source.h"
#include "core/net/graph/graph.h"
#include "core/net/plan/plan.h"
#include "core/net/run/loss_reader.h"
#include "core/net/run/step_runner.h"

namespace doppio {

// An output of the net: a named blob that no layer reads.
struct NetOutput {
  std::string blob;
  float loss_weight = 0;
  Tensor value;       // in plain layout
  bool score = true;  // see IsScore
};

// Not thread-safe.
struct RunningPlan {
  // `device` computes the layers if no layer is placed.
  RunningPlan(const Graph& graph, std::unique_ptr<Plan> its_plan, Device* device);

  // Reports whether the step was the forward of a layer that has changed the shape of a top.
  bool ChangedBy(const PlanStep& step) const;
  int recordings() const {
    return forward.recordings() + replace.recordings() + add_to.recordings();
  }

  std::unique_ptr<Plan> plan;
  std::vector<NetOutput> outputs;
  StepRunner forward;
  StepRunner replace, add_to;  // backward, one that replaces gradients and one that adds to them
  // True if a pass has run step by step, without a StepRunner.
  bool forward_by_steps = false, backward_by_steps = false;
  LossReader losses;
  std::vector<SampleSource*> sources;
  std::vector<const ChangesTops*> changers;  // per node, usually null; empty if all are null
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_RUNNING_PLAN_H_

// A net that runs: the plan's steps over memory placed once. Forward and Backward allocate nothing;
// a failure leaves with the layer's name and place. Where a layer's forward gives its tops other
// shapes than planned (core/net/run/changing_tops.h), graph(), plan(), outputs() and all tensors
// are others from then on.
#ifndef DOPPIO_CORE_NET_RUN_NET_H_
#define DOPPIO_CORE_NET_RUN_NET_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/run/gradient_sink.h"
#include "core/net/graph/graph.h"
#include "core/net/run/loss_reader.h"
#include "core/net/store/params.h"
#include "core/net/plan/plan.h"
#include "core/net/run/run_trace.h"
#include "core/net/run/step_runner.h"

namespace doppio {

class ChangesTops;  // core/net/run/changing_tops.h

// One number a user watches: an element of an output blob.
struct NetOutput {
  std::string blob;
  float loss_weight = 0;
  Tensor value;  // plain
};

class Net {
 public:
  // Plans and places everything. `params` outlives the net; a net with options.backward brings
  // gradients into it.
  Net(Graph graph, const PlanOptions& options, ParamStore* params);
  ~Net();

  // Runs all layers; returns the weighted sum of the losses.
  double Forward() {
    StartForward();
    return Loss();
  }
  // Has each data source prepare the batch of the next forward (Kernel::Stage), as far as the
  // device that computes lets it. May be left out.
  void StageNext();
  // The two halves of Forward. Where a backward comes between them, the device does not wait for
  // the host to see the loss.
  void StartForward();
  double Loss() { return losses_.Sum(); }
  // After Forward. Parameter gradients are added to those already there when `accumulate`, else
  // replaced.
  void Backward(bool accumulate, GradientSink* sink = nullptr);

  // Who keeps this keeps the memory of all tensors of the plan of now, once there is another one.
  // With this plan, the net and its device have to live.
  std::shared_ptr<void> memory() const { return memory_; }

  // From now on backward starts from the gradients of `scale` times the loss, and everything it
  // computes is so much larger. Not between the passes of one iteration. What Forward returns does
  // not change.
  void SetLossScale(float scale);

  const Graph& graph() const { return graph_; }
  // WriteWeights keeps this record, if the net does not read images itself.
  void set_preprocessing(const std::optional<Preprocessing>& preprocessing) {
    graph_.preprocessing = preprocessing;
  }
  const Plan& plan() const { return *plan_; }
  ParamStore& params() const { return *params_; }
  // The store's index of graph().params[i].
  int param_index(int graph_param) const {
    return plan_->param_index[static_cast<size_t>(graph_param)];
  }

  const std::vector<NetOutput>& outputs() const { return outputs_; }
  // The last version of a blob, or an absent tensor when its memory is not kept (see
  // PlanOptions::keep_all).
  Tensor Blob(const std::string& name) const;
  Tensor BlobGradient(const std::string& name) const;

  // Shows each step while the trace is on, and runs step by step for it. `trace` outlives the net's
  // use of it; null: none.
  void set_trace(RunTrace* trace) { trace_ = trace; }

  // Stretches of steps that the device repeats as one, once they have come twice.
  int recordings() const {
    return forward_.recordings() + replace_.recordings() + add_to_.recordings();
  }

  // For a net without a loss: backward starts from what its user has written to the gradients of
  // the outputs, and from zeros before.
  void StartFromUser();

  // For `time`: runs one step of plan().forward / plan().backward. Throws where it changes shapes.
  void RunStep(const PlanStep& step, bool accumulate = false);

  // Data sources: place in the data by layer name, for snapshots; forward passes so far.
  Pass& pass() { return pass_; }
  const Pass& pass() const { return pass_; }
  Kernel* kernel(int node) const { return plan_->kernels[static_cast<size_t>(node)].get(); }

 private:
  std::string NameOf(const PlanStep& step) const;
  void Connect();
  int RunForward();
  void TellFresh(bool fresh) const;
  void Follow(int changer);
  void CheckThatItCanFollow(int changer) const;
  void GoOnFrom(const Plan& before);
  void CopyTops(int node);
  bool RunsAgain(const PlanStep& step) const;
  bool ChangedBy(const PlanStep& step) const;
  void Run(const PlanStep& step, bool accumulate);
  void RunLayerAgain(int node);
  void RunTraced(const PlanStep& step, bool accumulate);
  void ShowWait(int64_t begun_ns, double seconds);
  void LogForward(const PlanStep& step) const;
  void LogBackward(const PlanStep& step) const;

  Graph graph_;
  ParamStore* params_;
  std::unique_ptr<Plan> plan_;
  StepRunner forward_;
  StepRunner replace_, add_to_;  // backward, by what becomes of the gradients before
  std::vector<NetOutput> outputs_;
  Pass pass_;
  float loss_scale_ = 1;
  float read_scale_ = 1;  // of the gradients that the readers of losses have set
  LossReader losses_;
  std::vector<bool> add_;  // scratch of RunStep, sized once
  RunTrace* trace_ = nullptr;

  PlanOptions options_;                       // for the next plan
  std::vector<const ChangesTops*> changers_;  // per node, mostly null; empty where all are
  bool starts_of_user_ = false;
  using Memory = std::vector<Buffer>;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();  // empty while plan_ has it
  // While a forward pass follows a layer's new shapes: the plan in which it began, and the last
  // node that has run there.
  std::shared_ptr<Memory> memory_before_;
  std::unique_ptr<Plan> before_;
  int last_again_ = -1;
  // Such a pass of this plan has run without a runner.
  bool forward_by_steps_ = false, backward_by_steps_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_NET_H_

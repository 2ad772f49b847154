// A net that can run: executes the plan's steps in memory that is placed once. Forward and Backward
// allocate nothing. Errors carry the layer's name and place. If a layer's forward changes the
// shapes of its tops (core/net/contract/changing_tops.h), graph(), plan(), outputs() and all
// tensors change, and references to the old ones are invalid. The plans of the last kMostPlans
// shapes are kept; they use the same memory. Not thread-safe.
#ifndef DOPPIO_CORE_NET_RUN_NET_H_
#define DOPPIO_CORE_NET_RUN_NET_H_

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/contract/gradient_sink.h"
#include "core/net/graph/graph.h"
#include "core/net/plan/plan.h"
#include "core/net/run/loss_reader.h"
#include "core/net/run/run_trace.h"
#include "core/net/run/step_runner.h"
#include "core/net/store/params.h"

namespace doppio {

class ChangesTops;   // core/net/contract/changing_tops.h
class SampleSource;  // core/net/contract/sample_source.h
class StagedPasses;  // core/net/run/staged_passes.h
class TensorOps;

// An output of the net: a named blob that no layer reads.
struct NetOutput {
  std::string blob;
  float loss_weight = 0;
  Tensor value;       // in plain layout
  bool score = true;  // see IsScore
};

// A net, its plan, and the state of its passes.
class Net {
 public:
  static constexpr int kMostPlans = 32;

  // Plans the graph and allocates all memory. `params` must outlive the net. A net with
  // options.backward adds memory for gradients to it.
  Net(Graph graph, const PlanOptions& options, ParamStore* params);
  ~Net();

  // Runs all layers and returns the weighted sum of the losses.
  double Forward() {
    StartForward();
    return Loss();
  }
  // Makes each data source prepare the batch of the next forward (Kernel::Stage), if possible while
  // the device computes. Optional.
  void StageNext();
  // The two halves of Forward. If Backward runs between them, the device does not wait until the
  // host has read the loss.
  void StartForward();
  double Loss();
  // Computes the gradients of the last Forward. Adds parameter gradients to the existing ones if
  // `accumulate` is true, else replaces them. If `sink` is not null, calls sink->Ready for
  // each gradient when it is complete.
  void Backward(bool accumulate, GradientSink* sink = nullptr);

  // Shares ownership of the current plan's buffers. With PlanOptions::keep_all, a plan for other
  // shapes has its own. The device must outlive them.
  std::shared_ptr<void> memory() const { return plan_->buffers; }

  // Makes backward compute the gradients of `scale` times the loss; all gradients grow by that
  // factor. Must not be called between the passes of one iteration. Does not change what Forward
  // returns.
  void SetLossScale(float scale);

  const Graph& graph() const { return graph_; }
  // Sets the record that WriteWeights saves, in place of what the net does with its own images.
  void set_preprocessing(const std::optional<Preprocessing>& preprocessing) {
    graph_.preprocessing = preprocessing;
  }
  const Plan& plan() const { return *plan_; }
  ParamStore& params() const { return *params_; }
  // Returns the store's index of graph().params[i].
  int param_index(int graph_param) const { return plan_->param_index[graph_param]; }

  const std::vector<NetOutput>& outputs() const { return outputs_; }
  // Return the last version of a blob, or its gradient. The tensor is absent if the net has no such
  // blob or does not keep its memory (see PlanOptions::keep_all).
  Tensor Blob(const std::string& name) const;
  Tensor BlobGradient(const std::string& name) const;

  // Records each step while the trace is on; the net then runs step by step. `trace` must outlive
  // its use by the net. Null turns recording off.
  void set_trace(RunTrace* trace) { trace_ = trace; }

  // Returns the number of recorded stretches of steps. The device records a stretch when it runs
  // for the second time.
  int recordings() const {
    return forward_.recordings() + replace_.recordings() + add_to_.recordings();
  }

  // For a net without a loss: makes backward start from the values that the user writes to the
  // gradients of the outputs. Sets these gradients to zero.
  void StartFromUserGradients();

  // For the `time` command: runs one step of plan().forward or plan().backward. Throws UserError if
  // the step changes a shape.
  void RunStep(const PlanStep& step, bool accumulate = false);

  // The state of the next pass: `step` counts the forward passes so far.
  Pass& pass() { return pass_; }
  const Pass& pass() const { return pass_; }
  // Returns the kernel of a node; null for a view, and for a member of a chain other than its head.
  Kernel* kernel(int node) const { return plan_->kernels[node].get(); }

  // Returns the nets of micro-batches 1, 2, ... of a batch; this net is that of micro-batch 0. They
  // run, and read their data, whenever this net does.
  const std::vector<std::unique_ptr<Net>>& other_microbatches() const;
  int64_t microbatches() const { return 1 + static_cast<int64_t>(other_microbatches().size()); }
  // Returns the rows of the whole batch of a pass.
  int64_t batch() const { return microbatches() * BatchOf(graph_); }

 private:
  friend class StagedPasses;

  std::string NameOf(const PlanStep& step) const;
  void Connect();
  void EndForward();
  int RunForward();
  void BeginSums(bool fresh) const;
  void Replan(int changer);
  void CheckCanReplan(int changer) const;
  void RunSources(int changer, std::vector<int>* changers);
  std::unique_ptr<Plan> PlanForShapes();
  void KeepPlan(std::vector<Shape> edges, std::unique_ptr<Plan> plan);
  void ForgetRepeats();
  void SaveTensors(const std::vector<bool>& done);
  void ContinueFrom(const Plan& before);
  void RestoreTops(int node) const;
  bool Repeats(const PlanStep& step) const;
  bool ChangedBy(const PlanStep& step) const;
  void Run(const PlanStep& step, bool accumulate);
  void RunSlices(const PlanStep& step);
  void RepeatLayer(int node);
  void RunTraced(const PlanStep& step, bool accumulate);
  void TraceWait(int64_t begun_ns, double seconds);
  void LogMagnitudes(const PlanStep& step, bool backward) const;

  Graph graph_;
  ParamStore* params_;
  std::unique_ptr<Plan> plan_;
  std::vector<const TensorOps*> ops_;  // of the plan's devices
  StepRunner forward_;
  StepRunner replace_, add_to_;  // backward, one that replaces gradients and one that adds to them
  std::vector<NetOutput> outputs_;
  Pass pass_;
  float loss_scale_ = 1;
  float read_scale_ = 1;  // loss scale of the gradients that the readers of losses wrote last
  LossReader losses_;
  std::vector<bool> add_;         // scratch memory of Run, reserved once
  GradientSink* sink_ = nullptr;  // of the current Backward
  RunTrace* trace_ = nullptr;

  // Null if one device computes all layers, and for micro-batches other than the first.
  std::unique_ptr<StagedPasses> staged_;
  PlanOptions options_;                       // for the next plan
  std::vector<SampleSource*> sources_;        // of the plan
  std::vector<const ChangesTops*> changers_;  // per node, usually null; empty if all are null
  bool user_gradients_ = false;
  // The plans of other shapes, the last used first.
  struct OtherPlan {
    std::vector<Shape> edges;
    std::unique_ptr<Plan> plan;
  };
  std::list<OtherPlan> other_plans_;
  // While a forward pass continues after a change of shapes: the nodes that have run, and copies of
  // what the next plan takes over: the tops of nodes that cannot run again, and the first elements
  // of the gradients of losses.
  std::vector<bool> repeated_;
  struct SavedTensor {
    SavedTensor(const Tensor& tensor, Device* device, const TensorOps& ops);
    Buffer memory;
    Tensor copy;
  };
  std::map<int, std::vector<SavedTensor>> saved_tops_;
  std::vector<std::optional<SavedTensor>> saved_weights_;
  // True if a pass of this plan has run step by step, without a StepRunner.
  bool forward_by_steps_ = false, backward_by_steps_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_NET_H_

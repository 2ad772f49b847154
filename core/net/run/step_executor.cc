#include "core/net/run/step_executor.h"

#include <algorithm>

#include "core/base/clock.h"

namespace doppio {
namespace {

// Copies a tensor between devices. The device that reads a value runs the copies in both
// directions.
void Move(const PlanStep& step, const std::vector<Device*>& devices) {
  Device *runs = devices[step.place], *peer = devices[step.peer];
  if (step.backward) {
    runs->CopyToPeer(peer, step.to.raw, step.from.raw, step.from.bytes());
  } else {
    runs->CopyFromPeer(peer, step.to.raw, step.from.raw, step.from.bytes());
  }
}

}  // namespace

StepExecutor::StepExecutor(const Graph& graph, Pass* pass, const CarriedPass& carried)
    : graph_(graph), pass_(*pass), carried_(carried) {
  size_t most = 0;
  for (const Node& node : graph.nodes) most = std::max(most, node.params.size());
  add_.reserve(most);
}

void StepExecutor::Use(const RunningPlan& running) {
  const bool first = running_ == nullptr;
  running_ = &running;
  plan_ = running.plan.get();
  ops_.clear();
  for (Device* each : plan_->devices) ops_.push_back(&OpsOf(each));
  // The first plan has the values for a loss scale of 1.
  if (!first) FillConstantGradients();
}

void StepExecutor::SetLossScale(float scale) {
  if (scale == loss_scale_) return;
  loss_scale_ = scale;
  FillConstantGradients();
}

void StepExecutor::FillConstantGradients() {
  for (const ConstantGradient& start : plan_->constant_gradients)
    ops_[start.place]->Fill(start.weight * loss_scale_, start.gradient);
}

void StepExecutor::StageSources() {
  for (SampleSource* source : running_->sources) {
    const int64_t begun = MonotonicNs();
    const double waited = source->wait_seconds();
    source->Stage(pass_);
    if (Traced(trace_)) TraceWait(begun, source->wait_seconds() - waited);
  }
}

void StepExecutor::Run(const PlanStep& step, bool accumulate, GradientSink* sink) {
  try {
    switch (step.kind) {
      case StepKind::kReorder:
        return step.reorder->Run(step.from.raw, step.to.raw);
      case StepKind::kFill:
        return ops_[step.place]->Fill(step.value * loss_scale_, step.to);
      case StepKind::kAdd:
        return ops_[step.place]->Add(step.before, step.from, step.to);
      case StepKind::kCopy:
        return ops_[step.place]->Copy(step.from, step.to);
      case StepKind::kMove:
        return Move(step, plan_->devices);
      case StepKind::kSave:
        return plan_->host_store->Save(step.slot);
      case StepKind::kSaved:
        return plan_->host_store->Saved(step.slot);
      case StepKind::kFetch:
        return plan_->host_store->Fetch(step.slot);
      case StepKind::kFetched:
        return plan_->host_store->Fetched(step.slot);
      case StepKind::kLayer:
        return RunLayer(step, accumulate, sink);
    }
  } catch (const Error& e) {
    RethrowWithContext(e, graph_.layer(step.node).At(),
                       "layer '" + graph_.layer(step.node).name() + "', " +
                           (step.backward ? "backward" : "forward"));
  }
}

void StepExecutor::RunLayer(const PlanStep& step, bool accumulate, GradientSink* sink) {
  if (carried_.Repeats(step)) return carried_.Repeat(step, graph_, *plan_, &pass_);
  Kernel& layer = *plan_->kernels[step.node];
  if (!step.backward) {
    pass_.again = step.again;
    layer.Forward(pass_);
    return;
  }
  add_.assign(step.first_use.size(), accumulate);
  for (size_t i = 0; i < add_.size(); ++i) add_[i] = accumulate || !step.first_use[i];
  layer.Backward(pass_, add_);
  if (layer.needs().gradient_slice > 0) RunSlices(step, sink);
}

// Computes the gradient of a layer's parameter 0 in slices.
void StepExecutor::RunSlices(const PlanStep& step, GradientSink* sink) {
  Kernel& layer = *plan_->kernels[step.node];
  const int64_t slice = layer.needs().gradient_slice;
  const int64_t elements = plan_->tensors[step.node].params[0].stored();
  for (int64_t begin = 0; begin < elements; begin += slice) {
    layer.BackwardSlice(begin / slice);
    if (sink != nullptr) {
      sink->ReadySlice(plan_->param_index[graph_.nodes[step.node].params[0]], begin,
                       std::min(begin + slice, elements));
    }
  }
}

}  // namespace doppio

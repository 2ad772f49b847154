// The parts of StepExecutor that show steps.
#include <cmath>
#include <map>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/net/contract/sample_source.h"
#include "core/net/run/step_executor.h"

namespace doppio {
namespace {

double MeanMagnitude(Device* device, const Tensor& tensor) {
  if (!tensor || tensor.count() == 0) return 0;
  return DispatchReal(tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> copy(tensor.stored());
    device->CopyToHost(copy.data(), tensor.raw, tensor.bytes());
    double sum = 0;
    for (T value : copy) sum += std::fabs(static_cast<double>(static_cast<ComputeType<T>>(value)));
    return sum / static_cast<double>(tensor.count());
  });
}

}  // namespace

// Records the time that a source waited for a batch. Sources wait before they do anything else.
void StepExecutor::TraceWait(int64_t begun_ns, double seconds) {
  if (seconds <= 0) return;
  trace_->Add({"data wait", "data", RunTrace::kTraining, begun_ns,
               begun_ns + static_cast<int64_t>(1e9 * seconds)});
}

// Returns a name for traces: "conv1+relu1" for layers that are computed together, "conv1 (reorder)"
// for steps that the plan inserts.
std::string StepExecutor::NameOf(const PlanStep& step) const {
  std::string name = graph_.layer(step.node).name();
  static const std::map<StepKind, const char*> inserted = {
      {StepKind::kReorder, " (reorder)"}, {StepKind::kFill, " (fill)"},
      {StepKind::kAdd, " (add)"},         {StepKind::kCopy, " (copy)"},
      {StepKind::kMove, " (move)"},       {StepKind::kSave, " (save)"},
      {StepKind::kSaved, " (saved)"},     {StepKind::kFetch, " (fetch)"},
      {StepKind::kFetched, " (fetched)"}};
  const auto found = inserted.find(step.kind);
  if (found != inserted.end()) return name + found->second;
  for (size_t i = 0; i < plan_->computed_with.size(); ++i) {
    if (plan_->computed_with[i] == step.node && static_cast<int>(i) != step.node)
      name += "+" + graph_.layer(static_cast<int>(i)).name();
  }
  return step.again ? name + " (again)" : name;
}

void StepExecutor::RunShown(const PlanStep& step, bool accumulate, GradientSink* sink) {
  RunTraced(step, accumulate, sink);
  const bool repeats = step.again || carried_.Repeats(step);
  if (graph_.spec.debug_info && !repeats && !running_->ChangedBy(step)) LogMagnitudes(step);
}

void StepExecutor::RunTraced(const PlanStep& step, bool accumulate, GradientSink* sink) {
  if (!Traced(trace_)) return Run(step, accumulate, sink);
  const SampleSource* source = step.kind == StepKind::kLayer
                                   ? Capability<SampleSource>(plan_->kernels[step.node].get())
                                   : nullptr;
  const double waited = source == nullptr ? 0 : source->wait_seconds();
  const RunTrace::Started begun = trace_->Begin(TraceOf::kDevice);
  Run(step, accumulate, sink);
  if (source != nullptr) TraceWait(begun.at, source->wait_seconds() - waited);
  trace_->End(begun, step.backward ? RunTrace::kBackward : RunTrace::kForward, NameOf(step),
              {{RunTrace::kLayer, step.node}});
}

// Writes the lines of Caffe's debug_info: mean magnitudes of the tensors that a layer has written.
// Gradients are divided by the loss scale.
void StepExecutor::LogMagnitudes(const PlanStep& step) const {
  if (step.kind != StepKind::kLayer) return;
  const bool backward = step.backward;
  const Node& node = graph_.nodes[step.node];
  const KernelTensors& t = plan_->tensors[step.node];
  const int place = step.place;
  const auto log = [&](const std::string& blob, const Tensor& tensor) {
    if (backward && !tensor) return;
    LOG(INFO) << (backward ? "    [Backward] Layer " : "    [Forward] Layer ")
              << graph_.layer(step.node).name() << ", " << blob
              << (backward ? " diff: " : " data: ")
              << MeanMagnitude(plan_->devices[place], tensor) / (backward ? loss_scale_ : 1);
  };
  const std::vector<int>& edges = backward ? node.bottoms : node.tops;
  for (size_t i = 0; i < edges.size(); ++i) {
    log((backward ? "bottom blob " : "top blob ") + graph_.edges[edges[i]].name,
        backward ? t.bottom_grads[i] : t.tops[i]);
  }
  for (size_t i = 0; i < node.params.size(); ++i)
    log("param blob " + std::to_string(i), backward ? t.param_grads[i] : t.params[i]);
}

}  // namespace doppio

#include "core/net/net.h"

#include <algorithm>
#include <cmath>

#include "core/base/log.h"
#include "core/math/tensor_ops.h"

namespace doppio {
namespace {

double MeanMagnitude(Device* device, const Tensor& tensor) {
  if (!tensor || tensor.count() == 0) return 0;
  return DispatchReal(tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> copy(static_cast<size_t>(tensor.stored()));
    device->CopyToHost(copy.data(), tensor.raw, tensor.bytes());
    double sum = 0;
    for (T value : copy) sum += std::fabs(static_cast<double>(static_cast<ComputeType<T>>(value)));
    return sum / static_cast<double>(tensor.count());
  });
}

}  // namespace

Net::Net(Graph graph, const PlanOptions& options, ParamStore* params)
    : graph_(std::move(graph)), params_(params), plan_(MakePlan(graph_, options, params)) {
  for (int edge : graph_.outputs) {
    const Edge& e = graph_.edges[static_cast<size_t>(edge)];
    outputs_.push_back({e.name, e.loss_weight, plan_->values[static_cast<size_t>(edge)]});
  }
  Device* device = params_->device();
  forward_ = StepRunner(*plan_, plan_->forward, device);
  replace_ = StepRunner(*plan_, plan_->backward, device);
  add_to_ = StepRunner(*plan_, plan_->backward, device);
  size_t most = 0;
  for (const Node& node : graph_.nodes) most = std::max(most, node.params.size());
  add_.reserve(most);
  losses_ = LossReader(device, plan_->losses);
}

Net::~Net() = default;

void Net::StartForward() {
  const auto run = [this](const PlanStep& step) { RunStep(step); };
  if (graph_.spec.debug_info || Traced(trace_)) {
    for (const PlanStep& step : plan_->forward) {
      RunTraced(step, false);
      if (graph_.spec.debug_info) LogForward(step);
    }
  } else {
    forward_.Run(run, nullptr);
  }
  ++pass_.step;
  losses_.Start(read_scale_);
}

void Net::SetLossScale(float scale) {
  if (scale == loss_scale_) return;
  loss_scale_ = scale;
  const TensorOps& ops = OpsOf(params_->device());
  for (const ConstantGradient& start : plan_->constant_gradients)
    ops.Fill(start.weight * scale, start.gradient);
}

void Net::Backward(bool accumulate, GradientSink* sink) {
  // Random numbers of a backward belong to the forward before it.
  --pass_.step;
  const auto run = [this, accumulate](const PlanStep& step) { RunStep(step, accumulate); };
  const auto after = [this, sink](const PlanStep& step) {
    if (graph_.spec.debug_info) LogBackward(step);
    for (size_t i = 0; sink != nullptr && i < step.ready.size(); ++i) sink->Ready(step.ready[i]);
  };
  // Whoever has to act between two steps needs them one by one.
  if (graph_.spec.debug_info || Traced(trace_) ||
      (sink != nullptr && params_->gradients_share_memory())) {
    for (const PlanStep& step : plan_->backward) {
      RunTraced(step, accumulate);
      after(step);
    }
  } else {
    const auto begins = [sink](const PlanStep& step) {
      return std::any_of(step.ready.begin(), step.ready.end(),
                         [sink](int param) { return sink->BeginsAt(param); });
    };
    StepRunner& runner = accumulate ? add_to_ : replace_;
    if (sink == nullptr) {
      runner.Run(run, after);
    } else {
      runner.Run(run, after, begins);
    }
  }
  ++pass_.step;
  read_scale_ = loss_scale_;
}

void Net::RunStep(const PlanStep& step, bool accumulate) {
  try {
    const TensorOps& ops = OpsOf(params_->device());
    switch (step.kind) {
      case StepKind::kReorder:
        step.reorder->Run(step.from.raw, step.to.raw);
        return;
      case StepKind::kFill:
        ops.Fill(step.value * loss_scale_, step.to);
        return;
      case StepKind::kAdd:
        ops.Add(step.before, step.from, step.to);
        return;
      case StepKind::kCopy:
        ops.Copy(step.from, step.to);
        return;
      case StepKind::kSave:
        plan_->host_store->Save(step.slot);
        return;
      case StepKind::kSaved:
        plan_->host_store->Saved(step.slot);
        return;
      case StepKind::kFetch:
        plan_->host_store->Fetch(step.slot);
        return;
      case StepKind::kFetched:
        plan_->host_store->Fetched(step.slot);
        return;
      case StepKind::kLayer:
        break;
    }
    Kernel& layer = *plan_->kernels[static_cast<size_t>(step.node)];
    if (!step.backward) {
      pass_.again = step.again;
      layer.Forward(pass_);
      return;
    }
    add_.assign(step.first_use.size(), accumulate);
    for (size_t i = 0; i < add_.size(); ++i) add_[i] = accumulate || !step.first_use[i];
    layer.Backward(pass_, add_);
  } catch (const Error& e) {
    RethrowWithContext(e, graph_.layer(step.node).At(),
                       "layer '" + graph_.layer(step.node).name() + "', " +
                           (step.backward ? "backward" : "forward"));
  }
}

// "conv1+relu1" for layers that are computed together, "conv1 (reorder)" for what the plan has put
// between layers.
std::string Net::NameOf(const PlanStep& step) const {
  std::string name = graph_.layer(step.node).name();
  switch (step.kind) {
    case StepKind::kReorder:
      return name + " (reorder)";
    case StepKind::kFill:
      return name + " (fill)";
    case StepKind::kAdd:
      return name + " (add)";
    case StepKind::kCopy:
      return name + " (copy)";
    case StepKind::kSave:
      return name + " (save)";
    case StepKind::kSaved:
      return name + " (saved)";
    case StepKind::kFetch:
      return name + " (fetch)";
    case StepKind::kFetched:
      return name + " (fetched)";
    case StepKind::kLayer:
      break;
  }
  for (size_t i = 0; i < plan_->computed_with.size(); ++i) {
    if (plan_->computed_with[i] == step.node && static_cast<int>(i) != step.node)
      name += "+" + graph_.layer(static_cast<int>(i)).name();
  }
  return step.again ? name + " (again)" : name;
}

void Net::RunTraced(const PlanStep& step, bool accumulate) {
  if (!Traced(trace_)) return RunStep(step, accumulate);
  const Kernel* source = step.kind == StepKind::kLayer ? kernel(step.node) : nullptr;
  const double waited = source == nullptr ? 0 : source->wait_seconds();
  const RunTrace::Begun begun = trace_->Begin(TraceOf::kDevice);
  RunStep(step, accumulate);
  const double wait = source == nullptr ? 0 : source->wait_seconds() - waited;
  // Sources wait for a batch before they do anything with it.
  if (wait > 0)
    trace_->Add({"data wait", "data", RunTrace::kTraining, begun.at,
                 begun.at + static_cast<int64_t>(1e9 * wait)});
  trace_->End(begun, step.backward ? RunTrace::kBackward : RunTrace::kForward, NameOf(step),
              {{RunTrace::kLayer, step.node}});
}

Tensor Net::Blob(const std::string& name) const {
  const int edge = graph_.FindEdge(name);
  return edge < 0 ? Tensor() : plan_->values[static_cast<size_t>(edge)];
}

Tensor Net::BlobGradient(const std::string& name) const {
  const int edge = graph_.FindEdge(name);
  return edge < 0 ? Tensor() : plan_->grads[static_cast<size_t>(edge)];
}

// The lines of Caffe's debug_info: mean magnitudes, of gradients as without a loss scale.
void Net::LogForward(const PlanStep& step) const {
  if (step.kind != StepKind::kLayer) return;
  const size_t n = static_cast<size_t>(step.node);
  const Node& node = graph_.nodes[n];
  const KernelTensors& t = plan_->tensors[n];
  const std::string& layer = graph_.layer(step.node).name();
  for (size_t i = 0; i < node.tops.size(); ++i) {
    LOG(INFO) << "    [Forward] Layer " << layer << ", top blob "
              << graph_.edges[static_cast<size_t>(node.tops[i])].name
              << " data: " << MeanMagnitude(params_->device(), t.tops[i]);
  }
  for (size_t i = 0; i < node.params.size(); ++i) {
    LOG(INFO) << "    [Forward] Layer " << layer << ", param blob " << i
              << " data: " << MeanMagnitude(params_->device(), t.params[i]);
  }
}

void Net::LogBackward(const PlanStep& step) const {
  if (step.kind != StepKind::kLayer) return;
  const size_t n = static_cast<size_t>(step.node);
  const Node& node = graph_.nodes[n];
  const KernelTensors& t = plan_->tensors[n];
  const std::string& layer = graph_.layer(step.node).name();
  for (size_t i = 0; i < node.bottoms.size(); ++i) {
    if (!t.bottom_grads[i]) continue;
    LOG(INFO) << "    [Backward] Layer " << layer << ", bottom blob "
              << graph_.edges[static_cast<size_t>(node.bottoms[i])].name
              << " diff: " << MeanMagnitude(params_->device(), t.bottom_grads[i]) / loss_scale_;
  }
  for (size_t i = 0; i < node.params.size(); ++i) {
    if (!t.param_grads[i]) continue;
    LOG(INFO) << "    [Backward] Layer " << layer << ", param blob " << i
              << " diff: " << MeanMagnitude(params_->device(), t.param_grads[i]) / loss_scale_;
  }
}

}  // namespace doppio

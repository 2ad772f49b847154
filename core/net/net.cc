#include "core/net/net.h"

#include <cmath>
#include <cstring>

#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/math/dnnl.h"

namespace doppio {
namespace {

double Sum(const Tensor& tensor) {
  return DispatchFloat(tensor.dtype, [&](auto zero) {
    const auto* data = tensor.data<decltype(zero)>();
    double sum = 0;
    for (int64_t i = 0; i < tensor.stored(); ++i) sum += data[i];
    return sum;
  });
}

double First(const Tensor& tensor) {
  return DispatchFloat(tensor.dtype, [&](auto zero) {
    return static_cast<double>(*tensor.data<decltype(zero)>());
  });
}

double MeanMagnitude(const Tensor& tensor) {
  if (!tensor || tensor.count() == 0) return 0;
  return DispatchFloat(tensor.dtype, [&](auto zero) {
    const auto* data = tensor.data<decltype(zero)>();
    double sum = 0;
    for (int64_t i = 0; i < tensor.stored(); ++i) sum += std::fabs(data[i]);
    return sum / static_cast<double>(tensor.count());
  });
}

void Add(const Tensor& before, const Tensor& from, const Tensor& to) {
  DispatchFloat(to.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* b = before.data<T>();
    const T* f = from.data<T>();
    T* t = to.data<T>();
    ParallelFor(to.stored(), 1 << 14, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) t[i] = b[i] + f[i];
    });
  });
}

void Copy(const Tensor& from, const Tensor& to) {
  const char* f = from.data<char>();
  char* t = to.data<char>();
  ParallelFor(to.bytes(), 1 << 16, [=](int64_t begin, int64_t end) {
    std::memcpy(t + begin, f + begin, static_cast<size_t>(end - begin));
  });
}

void FillWith(float value, const Tensor& to) {
  DispatchFloat(to.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* t = to.data<T>();
    ParallelFor(to.stored(), 1 << 14, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) t[i] = static_cast<T>(value);
    });
  });
}

}  // namespace

Net::Net(Graph graph, const PlanOptions& options, ParamStore* params)
    : graph_(std::move(graph)), params_(params), plan_(MakePlan(graph_, options, params)) {
  for (int edge : graph_.outputs) {
    const Edge& e = graph_.edges[static_cast<size_t>(edge)];
    outputs_.push_back({e.name, e.loss_weight, plan_->values[static_cast<size_t>(edge)]});
  }
  size_t most = 0;
  for (const Node& node : graph_.nodes) most = std::max(most, node.params.size());
  add_.reserve(most);
}

Net::~Net() = default;

double Net::Forward() {
  for (const PlanStep& step : plan_->forward) {
    RunStep(step);
    if (graph_.spec.debug_info) LogForward(step);
  }
  ++pass_.step;
  double loss = 0;
  for (const LossTerm& term : plan_->losses) {
    loss += (term.gradient ? First(term.gradient) : term.weight) * Sum(term.value);
  }
  return loss;
}

void Net::Backward(bool accumulate, GradientSink* sink) {
  // Random numbers of a backward belong to the forward before it.
  --pass_.step;
  for (const PlanStep& step : plan_->backward) {
    RunStep(step, accumulate);
    if (graph_.spec.debug_info) LogBackward(step);
    if (sink != nullptr) {
      for (int param : step.ready) sink->Ready(param);
    }
  }
  ++pass_.step;
}

void Net::RunStep(const PlanStep& step, bool accumulate) {
  try {
    switch (step.kind) {
      case StepKind::kReorder: step.reorder->Run(step.from.raw, step.to.raw); return;
      case StepKind::kFill: FillWith(step.value, step.to); return;
      case StepKind::kAdd: Add(step.before, step.from, step.to); return;
      case StepKind::kCopy: Copy(step.from, step.to); return;
      case StepKind::kLayer: break;
    }
    Kernel& layer = *plan_->kernels[static_cast<size_t>(step.node)];
    if (!step.backward) {
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

Tensor Net::Blob(const std::string& name) const {
  const int edge = graph_.FindEdge(name);
  return edge < 0 ? Tensor() : plan_->values[static_cast<size_t>(edge)];
}

Tensor Net::BlobGradient(const std::string& name) const {
  const int edge = graph_.FindEdge(name);
  return edge < 0 ? Tensor() : plan_->grads[static_cast<size_t>(edge)];
}

// The lines of Caffe's debug_info: mean magnitudes.
void Net::LogForward(const PlanStep& step) const {
  if (step.kind != StepKind::kLayer) return;
  const size_t n = static_cast<size_t>(step.node);
  const Node& node = graph_.nodes[n];
  const KernelTensors& t = plan_->tensors[n];
  const std::string& layer = graph_.layer(step.node).name();
  for (size_t i = 0; i < node.tops.size(); ++i) {
    LOG(INFO) << "    [Forward] Layer " << layer << ", top blob "
              << graph_.edges[static_cast<size_t>(node.tops[i])].name
              << " data: " << MeanMagnitude(t.tops[i]);
  }
  for (size_t i = 0; i < node.params.size(); ++i) {
    LOG(INFO) << "    [Forward] Layer " << layer << ", param blob " << i
              << " data: " << MeanMagnitude(t.params[i]);
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
              << " diff: " << MeanMagnitude(t.bottom_grads[i]);
  }
  for (size_t i = 0; i < node.params.size(); ++i) {
    if (!t.param_grads[i]) continue;
    LOG(INFO) << "    [Backward] Layer " << layer << ", param blob " << i
              << " diff: " << MeanMagnitude(t.param_grads[i]);
  }
}

}  // namespace doppio

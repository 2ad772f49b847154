#include "core/net/run/net.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/math/tensor_ops.h"
#include "core/net/contract/carried_state.h"
#include "core/net/contract/changing_tops.h"
#include "core/net/contract/communicator.h"
#include "core/net/contract/sample_source.h"
#include "core/net/run/infer_again.h"
#include "core/net/run/join_sources.h"
#include "core/net/run/staged_passes.h"

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

// Copies a state to the kernel of another plan. If its shapes have changed, sets the state to zero.
void TakeState(const CarriesState& from, CarriesState* to) {
  const std::vector<PlainBlob> state = from.State(), now = to->State();
  bool alike = state.size() == now.size();
  for (size_t i = 0; alike && i < state.size(); ++i) alike = state[i].shape == now[i].shape;
  alike ? to->SetState(state) : ResetState(to);
}

// Returns the first element of a tensor, which has a plain layout.
Tensor FirstOf(const Tensor& tensor) {
  return Tensor({Shape{1}, tensor.dtype, Layout()}, tensor.raw);
}

}  // namespace

Net::Net(Graph graph, const PlanOptions& options, ParamStore* params)
    : graph_(std::move(graph)),
      params_(params),
      plan_(MakePlan(graph_, options, params)),
      options_(options) {
  // The solver and the exchange have already allocated their memory.
  options_.history_slots = options_.exchange_bytes = 0;
  size_t most = 0;
  for (const Node& node : graph_.nodes) most = std::max(most, node.params.size());
  add_.reserve(most);
  Connect();
  DOPPIO_CHECK(plan_->devices.size() > 1 || graph_.spec.options.microbatches == 1,
               "micro-batches pass through several devices");
  if (plan_->devices.size() > 1 && options.microbatch == 0)
    staged_ = std::make_unique<StagedPasses>(this);
}

Net::~Net() = default;

void Net::Connect() {
  outputs_.clear();
  for (int edge : graph_.outputs) {
    const Edge& e = graph_.edges[edge];
    outputs_.push_back({e.name, e.loss_weight, plan_->values[edge], IsScore(graph_, edge)});
  }
  Device* device = params_->device();
  forward_ = StepRunner(*plan_, plan_->forward, device);
  replace_ = StepRunner(*plan_, plan_->backward, device);
  add_to_ = StepRunner(*plan_, plan_->backward, device);
  forward_by_steps_ = backward_by_steps_ = false;
  ops_.clear();
  for (Device* each : plan_->devices) ops_.push_back(&OpsOf(each));
  losses_ = LossReader(plan_->devices, plan_->losses);
  JoinSources(graph_, plan_->kernels);
  sources_.clear();
  changers_.clear();
  for (const auto& kernel : plan_->kernels) {
    if (auto* source = Capability<SampleSource>(kernel.get())) sources_.push_back(source);
    changers_.push_back(ChangerOf(kernel.get()));
  }
  const bool may_change = std::any_of(changers_.begin(), changers_.end(),
                                      [](const ChangesTops* layer) { return layer != nullptr; });
  if (!may_change) changers_.clear();
}

void Net::StartForward() {
  if (staged_ != nullptr) return staged_->Forward();
  ForgetRepeats();  // of a pass that failed
  for (int changer = RunForward(); changer >= 0; changer = RunForward()) Replan(changer);
  ForgetRepeats();
  EndForward();
}

void Net::ForgetRepeats() {
  if (repeated_.empty() && saved_tops_.empty() && saved_weights_.empty()) return;
  params_->device()->Synchronize();
  repeated_.clear();
  saved_tops_.clear();
  saved_weights_.clear();
}

void Net::EndForward() {
  ++pass_.step;
  losses_.Start(read_scale_);
}

double Net::Loss() { return staged_ == nullptr ? losses_.Sum() : staged_->Loss(); }

const std::vector<std::unique_ptr<Net>>& Net::other_microbatches() const {
  static const std::vector<std::unique_ptr<Net>> kNone;
  return staged_ == nullptr ? kNone : staged_->others();
}

void Net::StageNext() {
  if (staged_ != nullptr) {
    for (const auto& part : staged_->others()) part->StageNext();
  }
  for (SampleSource* source : sources_) {
    const int64_t begun = MonotonicNs();
    const double waited = source->wait_seconds();
    source->Stage(pass_);
    if (Traced(trace_)) TraceWait(begun, source->wait_seconds() - waited);
  }
}

// Runs the steps up to the first layer whose tops' shapes differ from the plan. Returns the layer's
// node, or -1 if no shape differs.
int Net::RunForward() {
  const bool by_steps = !changers_.empty() || graph_.spec.debug_info || Traced(trace_);
  BeginSums(by_steps ? !forward_by_steps_ : forward_.Fresh(false));
  if (!by_steps) {
    forward_.Run([this](const PlanStep& step) { Run(step, false); }, nullptr);
    return -1;
  }
  forward_by_steps_ = true;
  for (const PlanStep& step : plan_->forward) {
    RunTraced(step, false);
    if (ChangedBy(step)) return step.node;
    if (graph_.spec.debug_info && !Repeats(step)) LogMagnitudes(step, false);
  }
  return -1;
}

// Reports whether this pass, forward or backward, sets up work on the device for the first time.
void Net::BeginSums(bool fresh) const {
  if (pass_.sums != nullptr) pass_.sums->Begin(fresh);
}

bool Net::ChangedBy(const PlanStep& step) const {
  if (changers_.empty() || step.kind != StepKind::kLayer || step.backward) return false;
  const ChangesTops* layer = changers_[step.node];
  return layer != nullptr && layer->changed();
}

// Continues the pass after node `changer` has changed the shapes of its tops: in another plan, runs
// the previous layers again. The cost is one forward up to this layer; in return, the plans need
// not resemble each other.
void Net::Replan(int changer) {
  CheckCanReplan(changer);
  std::vector<bool> done(graph_.nodes.size(), false);
  std::fill_n(done.begin(), changer + 1, true);
  SaveTensors(done);
  std::vector<int> changers = {changer};
  RunSources(changer, &changers);
  for (int node : changers) done[node] = true;
  const GraphShapes shapes(graph_);
  std::unique_ptr<Plan> plan;
  try {
    StoreForms(plan_->kernels, done, &graph_.spec);
    InferAgain(changers, &graph_);
    plan = PlanForShapes();
    ClearForms(&graph_.spec);
  } catch (...) {
    ClearForms(&graph_.spec);
    shapes.Restore(&graph_);
    throw;
  }
  params_->device()->Synchronize();
  plan_.swap(plan);
  repeated_ = std::move(done);
  Connect();
  ContinueFrom(*plan);
  KeepPlan(shapes.edges(), std::move(plan));
}

// If node `changer` is a source, runs the sources behind it whose shapes may change, too, because
// the layers that read both accept their new shapes only together. Adds their nodes to `changers`.
void Net::RunSources(int changer, std::vector<int>* changers) {
  if (!graph_.nodes[changer].bottoms.empty()) return;
  for (const PlanStep& step : plan_->forward) {
    if (step.kind != StepKind::kLayer || step.node <= changer) continue;
    if (!graph_.nodes[step.node].bottoms.empty() || changers_[step.node] == nullptr) continue;
    if (!Repeats(step)) Run(step, false);
    changers->push_back(step.node);
  }
}

// Returns the plan for the graph's shapes: one that was kept, or a new one.
std::unique_ptr<Plan> Net::PlanForShapes() {
  const std::vector<Shape> edges = GraphShapes(graph_).edges();
  for (auto other = other_plans_.begin(); other != other_plans_.end(); ++other) {
    if (other->edges != edges) continue;
    std::unique_ptr<Plan> plan = std::move(other->plan);
    other_plans_.erase(other);
    return plan;
  }
  // A program may still read the blobs of the last pass.
  const std::shared_ptr<PlanBuffers> shared = options_.keep_all ? nullptr : plan_->buffers;
  std::unique_ptr<Plan> plan = MakePlan(graph_, options_, params_, shared);
  if (shared != nullptr && plan->buffers != shared) {
    LOG(INFO) << "For larger samples, activations and scratch of the " << plan->memory.net
              << " get " << Bytes(plan->buffers->bytes());
  }
  return plan;
}

// Keeps the plan of the last pass, and the others, if they use the memory of the current one.
void Net::KeepPlan(std::vector<Shape> edges, std::unique_ptr<Plan> plan) {
  if (plan->buffers != plan_->buffers) return other_plans_.clear();
  // The store would hold host memory for each plan.
  if (plan->host_store != nullptr) return;
  other_plans_.push_front({std::move(edges), std::move(plan)});
  if (other_plans_.size() >= kMostPlans) other_plans_.pop_back();
}

void Net::CheckCanReplan(int changer) const {
  for (int n = 0; n < changer; ++n) {
    const bool source = graph_.nodes[n].bottoms.empty();
    const std::string mistake =
        "changed the shape of a top in its forward, which is not possible because " +
        graph_.Describe(n) + " before it ";
    graph_.layer(changer).RefuseIf(StateOf(kernel(n)) != nullptr, "top", mistake,
                                   "carries a state from pass to pass");
    const bool computes = !source && kernel(n) != nullptr && ChangerOf(kernel(n)) == nullptr;
    graph_.layer(changer).RefuseIf(pass_.ranks > 1 && computes, "top", mistake,
                                   "would have to run again on only one of several replicas");
  }
}

Net::SavedTensor::SavedTensor(const Tensor& tensor, Device* device, const TensorOps& ops)
    : memory(device, tensor.bytes()), copy(tensor, memory.data()) {
  ops.Copy(tensor, copy);
}

// Saves the tensors whose values the next plan takes over, because it uses the same memory. Nodes
// that are `done` have run in this pass.
void Net::SaveTensors(const std::vector<bool>& done) {
  Device* const device = params_->device();
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    const bool cannot_repeat = done[n] && node.bottoms.empty() && changers_[n] == nullptr;
    const auto at = static_cast<int>(n);
    if (saved_tops_.count(at) > 0 || !(cannot_repeat || node.shape.persistent_tops)) continue;
    for (const Tensor& top : plan_->tensors[n].tops)
      saved_tops_[at].emplace_back(top, device, *ops_[0]);
  }
  if (!saved_weights_.empty()) return;
  for (const LossTerm& loss : plan_->losses) {
    saved_weights_.emplace_back();
    if (loss.gradient) saved_weights_.back().emplace(FirstOf(loss.gradient), device, *ops_[0]);
  }
}

// Takes over the state that running forward again does not restore.
void Net::ContinueFrom(const Plan& before) {
  for (const ConstantGradient& start : plan_->constant_gradients) {
    ops_[start.place]->Fill(user_gradients_ ? 0 : start.weight * loss_scale_, start.gradient);
  }
  for (size_t i = 0; i < plan_->losses.size(); ++i) {
    const Tensor& to = plan_->losses[i].gradient;
    if (saved_weights_[i] && to) ops_[0]->Copy(saved_weights_[i]->copy, FirstOf(to));
  }
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    Kernel *now = plan_->kernels[n].get(), *old = before.kernels[n].get();
    if (now == nullptr || old == nullptr) continue;
    const SampleSource* const source = SourceOf(old);
    if (source != nullptr) Capability<SampleSource>(now)->Seek(source->position());
    if (graph_.nodes[n].shape.persistent_tops) RestoreTops(static_cast<int>(n));
    CarriesState *state = StateOf(now), *old_state = StateOf(old);
    if (state != nullptr && old_state != nullptr) TakeState(*old_state, state);
  }
}

void Net::RestoreTops(int node) const {
  const std::vector<SavedTensor>& saved = saved_tops_.at(node);
  const std::vector<Tensor>& tops = plan_->tensors[node].tops;
  for (size_t i = 0; i < tops.size(); ++i) ops_[0]->Copy(saved[i].copy, tops[i]);
}

void Net::StartFromUserGradients() {
  user_gradients_ = true;
  for (const ConstantGradient& start : plan_->constant_gradients)
    plan_->devices[start.place]->Zero(start.gradient.raw, start.gradient.bytes());
}

void Net::SetLossScale(float scale) {
  if (scale == loss_scale_) return;
  loss_scale_ = scale;
  for (const ConstantGradient& start : plan_->constant_gradients)
    ops_[start.place]->Fill(start.weight * scale, start.gradient);
  if (staged_ == nullptr) return;
  for (const auto& part : staged_->others()) part->SetLossScale(scale);
}

void Net::Backward(bool accumulate, GradientSink* sink) {
  if (staged_ != nullptr) return staged_->Backward(accumulate, sink);
  // Backward uses the random numbers of the forward before it.
  --pass_.step;
  sink_ = sink;
  const auto run = [this, accumulate](const PlanStep& step) { Run(step, accumulate); };
  const auto after = [this, sink](const PlanStep& step) {
    if (graph_.spec.debug_info) LogMagnitudes(step, true);
    for (size_t i = 0; sink != nullptr && i < step.ready.size(); ++i) sink->Ready(step.ready[i]);
  };
  // Logging, tracing and sinks that act between two steps need separate steps.
  const bool by_steps = graph_.spec.debug_info || Traced(trace_) ||
                        (sink != nullptr && params_->gradients_share_memory());
  StepRunner& runner = accumulate ? add_to_ : replace_;
  BeginSums(by_steps ? !backward_by_steps_ : runner.Fresh(sink != nullptr));
  if (by_steps) {
    backward_by_steps_ = true;
    for (const PlanStep& step : plan_->backward) {
      RunTraced(step, accumulate);
      after(step);
    }
  } else {
    const auto begins = [sink](const PlanStep& step) {
      return std::any_of(step.ready.begin(), step.ready.end(),
                         [sink](int param) { return sink->BeginsAt(param); });
    };
    if (sink == nullptr) {
      runner.Run(run, after);
    } else {
      runner.Run(run, after, begins);
    }
  }
  ++pass_.step;
  sink_ = nullptr;
  read_scale_ = loss_scale_;
}

void Net::RunStep(const PlanStep& step, bool accumulate) {
  const ThreadCount threads(plan_->devices[step.place]->threads());
  Run(step, accumulate);
  if (!ChangedBy(step)) return;
  throw graph_.layer(step.node).Mistake(
      "top",
      "changed the shape of a top in its forward, which only a forward of the whole net supports; "
      "to time a net whose images have several sizes, use --synthetic");
}

void Net::Run(const PlanStep& step, bool accumulate) {
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
        break;
    }
    Kernel& layer = *plan_->kernels[step.node];
    if (Repeats(step)) return RepeatLayer(step.node);
    if (!step.backward) {
      pass_.again = step.again;
      layer.Forward(pass_);
      return;
    }
    add_.assign(step.first_use.size(), accumulate);
    for (size_t i = 0; i < add_.size(); ++i) add_[i] = accumulate || !step.first_use[i];
    layer.Backward(pass_, add_);
    if (layer.needs().gradient_slice > 0) RunSlices(step);
  } catch (const Error& e) {
    RethrowWithContext(e, graph_.layer(step.node).At(),
                       "layer '" + graph_.layer(step.node).name() + "', " +
                           (step.backward ? "backward" : "forward"));
  }
}

// Computes the gradient of a layer's parameter 0 in slices.
void Net::RunSlices(const PlanStep& step) {
  Kernel& layer = *plan_->kernels[step.node];
  const int64_t slice = layer.needs().gradient_slice;
  const int64_t elements = plan_->tensors[step.node].params[0].stored();
  for (int64_t begin = 0; begin < elements; begin += slice) {
    layer.BackwardSlice(begin / slice);
    if (sink_ != nullptr) {
      sink_->ReadySlice(plan_->param_index[graph_.nodes[step.node].params[0]], begin,
                        std::min(begin + slice, elements));
    }
  }
}

bool Net::Repeats(const PlanStep& step) const {
  return !step.backward && !repeated_.empty() && repeated_[step.node];
}

// Runs a layer of a repeated pass in the new plan, without side effects: sources are copied, and
// sinks are skipped.
void Net::RepeatLayer(int node) {
  const Node& layer = graph_.nodes[node];
  if (layer.tops.empty()) return;
  if (layer.bottoms.empty() && changers_[node] == nullptr) return RestoreTops(node);
  pass_.again = true;
  kernel(node)->Forward(pass_);
}

Tensor Net::Blob(const std::string& name) const {
  const int edge = graph_.FindEdge(name);
  return edge < 0 ? Tensor() : plan_->values[edge];
}

Tensor Net::BlobGradient(const std::string& name) const {
  const int edge = graph_.FindEdge(name);
  return edge < 0 ? Tensor() : plan_->grads[edge];
}

}  // namespace doppio

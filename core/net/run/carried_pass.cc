#include "core/net/run/carried_pass.h"

#include <utility>

#include "core/net/contract/carried_state.h"
#include "core/net/contract/changing_tops.h"
#include "core/net/contract/sample_source.h"

namespace doppio {
namespace {

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

bool CanRunAgain(const Node& node, Kernel* kernel) {
  return !node.bottoms.empty() || ChangerOf(kernel) != nullptr;
}

}  // namespace

CarriedPass::SavedTensor::SavedTensor(const Tensor& tensor, Device* device)
    : memory(device, tensor.bytes()), copy(tensor, memory.data()) {
  OpsOf(device).Copy(tensor, copy);
}

void CarriedPass::Save(const Graph& graph, const Plan& plan, const std::vector<bool>& done) {
  Device* const device = plan.devices[0];
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool gone = done[n] && !CanRunAgain(node, plan.kernels[n].get());
    const auto at = static_cast<int>(n);
    if (tops_.count(at) > 0 || !(gone || node.shape.persistent_tops)) continue;
    for (const Tensor& top : plan.tensors[n].tops) tops_[at].emplace_back(top, device);
  }
  if (!weights_.empty()) return;
  for (const LossTerm& loss : plan.losses) {
    weights_.emplace_back();
    if (loss.gradient) weights_.back().emplace(FirstOf(loss.gradient), device);
  }
}

void CarriedPass::Continue(const Graph& graph, const Plan& before, const Plan& now,
                           std::vector<bool> done) {
  repeated_ = std::move(done);
  const TensorOps& ops = OpsOf(now.devices[0]);
  for (size_t i = 0; i < now.losses.size(); ++i) {
    const Tensor& to = now.losses[i].gradient;
    if (weights_[i] && to) ops.Copy(weights_[i]->copy, FirstOf(to));
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Kernel *kernel = now.kernels[n].get(), *old = before.kernels[n].get();
    if (kernel == nullptr || old == nullptr) continue;
    const SampleSource* const source = SourceOf(old);
    if (source != nullptr) Capability<SampleSource>(kernel)->Seek(source->position());
    if (graph.nodes[n].shape.persistent_tops) RestoreTops(static_cast<int>(n), now);
    CarriesState *state = StateOf(kernel), *old_state = StateOf(old);
    if (state != nullptr && old_state != nullptr) TakeState(*old_state, state);
  }
}

bool CarriedPass::Repeats(const PlanStep& step) const {
  return !repeated_.empty() && step.kind == StepKind::kLayer && !step.backward &&
         repeated_[step.node];
}

void CarriedPass::Repeat(const PlanStep& step, const Graph& graph, const Plan& plan,
                         Pass* pass) const {
  const Node& node = graph.nodes[step.node];
  Kernel* const kernel = plan.kernels[step.node].get();
  if (node.tops.empty()) return;
  if (!CanRunAgain(node, kernel)) return RestoreTops(step.node, plan);
  pass->again = true;
  kernel->Forward(*pass);
}

void CarriedPass::RestoreTops(int node, const Plan& plan) const {
  const std::vector<SavedTensor>& saved = tops_.at(node);
  const std::vector<Tensor>& tops = plan.tensors[node].tops;
  for (size_t i = 0; i < tops.size(); ++i) OpsOf(plan.devices[0]).Copy(saved[i].copy, tops[i]);
}

void CarriedPass::Clear() {
  repeated_.clear();
  tops_.clear();
  weights_.clear();
}

}  // namespace doppio

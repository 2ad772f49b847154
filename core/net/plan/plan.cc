#include "core/net/plan/plan.h"

#include <algorithm>

#include "core/base/threads.h"
#include "core/math/tensor_ops.h"
#include "core/net/plan/plan_tensors.h"

namespace doppio {
namespace {

// Returns true if `memory` is large enough for the plan.
bool FitsIn(const Draft& draft, const PlanBuffers& memory) {
  const auto fit = [](const std::vector<int64_t>& bytes, const std::vector<Buffer>& buffers) {
    return std::equal(
        bytes.begin(), bytes.end(), buffers.begin(),
        [](int64_t needed, const Buffer& buffer) { return needed <= buffer.bytes(); });
  };
  return fit(draft.arenas, memory.arenas) && fit(draft.scratch, memory.scratch) &&
         fit(draft.constants, memory.constants);
}

// Allocates the plan's memory, a quarter larger if `grows`.
std::shared_ptr<PlanBuffers> AllocateBuffers(const Draft& draft, bool grows) {
  const auto allocate = [&](const std::vector<int64_t>& bytes) {
    std::vector<Buffer> buffers;
    for (size_t i = 0; i < bytes.size(); ++i)
      buffers.emplace_back(draft.devices[i], bytes[i] + (grows ? bytes[i] / 4 : 0));
    return buffers;
  };
  return std::make_shared<PlanBuffers>(
      PlanBuffers{allocate(draft.arenas), allocate(draft.scratch), allocate(draft.constants)});
}

// Converts a finished draft into bound kernels and steps. The plan has its buffers.
class Assembler {
 public:
  Assembler(const Draft& draft, Plan* plan, ParamStore* params)
      : draft_(draft), plan_(*plan), params_(*params), tensors_{draft, *plan->buffers} {}

  void Run() {
    FillConstants();
    plan_.tensors.resize(draft_.graph->nodes.size());
    for (const Item& item : draft_.items)
      forward_.push_back(item.view      ? PlanStep()
                         : item.reorder ? ReorderStep(item, false)
                                        : BindLayer(item));
    AddHostStore();
    OffloadSteps copies(draft_.offloads);
    for (int time = 0; time <= draft_.end(); ++time)
      AddEvent(draft_.events[time], copies.before[time], copies.after[time]);
    MarkContributions(draft_, &plan_);
    ShowEdges();
  }

 private:
  const Group& group(int id) const { return draft_.groups[id]; }

  void FillConstants() {
    for (size_t id = 0; id < draft_.groups.size(); ++id) {
      const Group& g = draft_.groups[id];
      if (!g.constant_grad) continue;
      const float weight = draft_.options.user_gradients ? 0 : g.loss_weight;
      plan_.constant_gradients.push_back(
          {Tensor(g.spec, tensors_.ConstantAt(static_cast<int>(id))), weight, g.place});
      FillTensor(plan_.constant_gradients.back().gradient, weight, g.place);
    }
  }

  void FillTensor(const Tensor& tensor, float value, int place) {
    if (!draft_.options.runs) return;
    if (tensor.layout.padded()) {
      OpsOf(draft_.devices[place]).Fill(value, tensor);
      return;
    }
    DispatchReal(tensor.dtype, [&](auto zero) {
      using T = decltype(zero);
      const std::vector<T> host(tensor.stored(), static_cast<T>(value));
      draft_.devices[place]->CopyFromHost(tensor.raw, host.data(), tensor.bytes());
    });
  }

  PlanStep BindLayer(const Item& item) {
    const Unit& unit = draft_.UnitOf(item);
    KernelTensors t;
    for (size_t i = 0; i < item.bottoms.size(); ++i) {
      t.bottoms.push_back(tensors_.Value(item.bottoms[i], item.bottom_specs[i]));
      t.bottom_grads.push_back(tensors_.BottomGradient(item, i));
    }
    for (size_t i = 0; i < item.tops.size(); ++i) {
      t.tops.push_back(tensors_.Value(item.tops[i], item.top_specs[i]));
      t.top_grads.push_back(tensors_.TopGradient(item, i));
    }
    const int replica = draft_.ReplicaAt(item.place);
    for (size_t i = 0; i < unit.params.size(); ++i) {
      const Param& param = params_.params()[plan_.param_index[unit.params[i]]];
      t.params.push_back(param.ValueOf(replica));
      t.params.back().shape = unit.param_shapes[i];
      t.param_grads.push_back(param.GradientOf(replica));
      t.param_grads.back().shape = unit.param_shapes[i];
      if (!item.backward || !unit.param_gradient[i]) t.param_grads.back().raw = nullptr;
    }
    t.saved = tensors_.At(item.saved);
    t.scratch = plan_.buffers->scratch[item.place].data();
    plan_.tensors[item.node] = t;
    const ThreadCount threads(draft_.devices[item.place]->properties.threads);
    plan_.kernels[item.node]->Bind(std::move(t));
    return StepOf(StepKind::kLayer, item, {}, {});
  }

  static PlanStep StepOf(StepKind kind, const Item& item, const Tensor& from, const Tensor& to) {
    PlanStep step;
    step.kind = kind;
    step.node = item.node;
    step.place = item.place;
    step.from = from;
    step.to = to;
    return step;
  }

  // A move runs on the device that reads the value, in both directions.
  PlanStep ReorderStep(const Item& item, bool backward) {
    const Tensor from = backward ? tensors_.TopGradient(item, 0)
                                 : tensors_.Value(item.bottoms[0], item.bottom_specs[0]);
    const Tensor to = backward ? tensors_.BottomGradient(item, 0)
                               : tensors_.Value(item.tops[0], item.top_specs[0]);
    const StepKind kind = item.view   ? StepKind::kCopy
                          : item.move ? StepKind::kMove
                                      : StepKind::kReorder;
    PlanStep step = StepOf(kind, item, from, to);
    if (item.view) return step;
    if (item.move) {
      step.peer = group(item.bottoms[0]).place;
      step.edge = group(item.bottoms[0]).edge;
      return step;
    }
    Device* const device = draft_.devices[item.place];
    const ThreadCount threads(device->properties.threads);
    step.reorder = OpsOf(device).Convert(from, to);
    return step;
  }

  void AddHostStore() {
    std::vector<StoredBlock> blocks;
    for (const Offload& offload : draft_.offloads)
      blocks.push_back({tensors_.At(offload.block), draft_.blocks[offload.block].bytes});
    if (!blocks.empty()) plan_.host_store = MakeHostStore(draft_.options.device, std::move(blocks));
  }

  // Adds the steps of an event, between the copies to and from the host `before` and `after` it.
  void AddEvent(const Event& event, const std::vector<PlanStep>& before,
                const std::vector<PlanStep>& after) {
    const bool forward = event.kind == Event::kForward;
    if (!forward && !draft_.options.backward) return;
    const Item& item = draft_.items[event.item];
    std::vector<PlanStep>& steps = forward ? plan_.forward : plan_.backward;
    const auto add_copies = [&](const std::vector<PlanStep>& copies) {
      for (const PlanStep& copy : copies) {
        steps.push_back(copy);
        steps.back().node = item.node;
        steps.back().backward = !forward;
      }
    };
    add_copies(before);
    if (event.kind == Event::kBackward) {
      AddBackward(item);
    } else if (!item.view) {
      steps.push_back(forward_[event.item]);
      steps.back().again = !forward;
    }
    add_copies(after);
  }

  void AddBackward(const Item& item) {
    if (!item.backward) return;
    const size_t first = plan_.backward.size();
    for (const Item::Fill& start : item.fills) {
      const Group& g = group(start.group);
      PlanStep fill = StepOf(StepKind::kFill, item, {}, Tensor(g.spec, tensors_.At(start.block)));
      fill.place = g.place;
      fill.value = g.loss_weight;
      plan_.backward.push_back(fill);
    }
    for (const Item::Copy& own : item.copies) {
      plan_.backward.push_back(StepOf(StepKind::kCopy, item,
                                      tensors_.TopGradient(item, own.top, own.from),
                                      tensors_.TopGradient(item, own.top)));
    }
    if (item.reorder) {
      if (item.bottom_grads.empty() || item.bottom_grads[0] < 0) return;
      plan_.backward.push_back(ReorderStep(item, true));
    } else {
      plan_.backward.push_back(StepOf(StepKind::kLayer, item, {}, {}));
    }
    for (const Item::Addition& addition : item.additions) {
      const TensorSpec& spec = item.bottom_specs[addition.bottom];
      PlanStep add = StepOf(StepKind::kAdd, item, Tensor(spec, tensors_.At(addition.from)),
                            Tensor(spec, tensors_.At(addition.to)));
      add.before = Tensor(spec, tensors_.At(addition.before));
      add.place = group(item.bottoms[addition.bottom]).place;
      plan_.backward.push_back(add);
    }
    for (size_t s = first; s < plan_.backward.size(); ++s) plan_.backward[s].backward = true;
  }

  // Records the losses, and the tensors of values and gradients that keep their memory to the end
  // of the iteration.
  void ShowEdges() {
    plan_.values.resize(draft_.graph->edges.size());
    plan_.grads.resize(draft_.graph->edges.size());
    for (size_t e = 0; e < draft_.graph->edges.size(); ++e) {
      const int id = draft_.edge_group[e];
      if (id < 0) continue;  // the edge is inside a chain
      const Group& g = group(id);
      const TensorSpec spec{draft_.graph->edges[e].shape, g.spec.dtype, g.spec.layout};
      plan_.values[e] = g.pinned ? tensors_.Value(id, spec) : Tensor(spec, nullptr);
      const bool kept = draft_.options.keep_all && g.grad_storage >= 0;
      plan_.grads[e] = Tensor(spec, kept ? tensors_.At(g.grad_storage) : tensors_.ConstantAt(id));
      const float loss_weight = draft_.graph->edges[e].loss_weight;
      if (loss_weight == 0) continue;
      LossTerm& term = plan_.losses.emplace_back();
      term = {plan_.values[e], loss_weight, Tensor(), g.place};
      if (!g.implicit_weight || g.grad_storage < 0) continue;
      term.gradient = Tensor(g.spec, tensors_.At(g.grad_storage));
      FillTensor(term.gradient, g.loss_weight, g.place);
    }
  }

  const Draft& draft_;
  Plan& plan_;
  ParamStore& params_;
  const DraftTensors tensors_;
  std::vector<PlanStep> forward_;  // per item: its forward step
};

// Makes a plan up to the point where its memory is known: kernels, offsets and `plan->memory`.
void MakeDraft(const Graph& graph, const PlanOptions& options, ParamStore* params, Draft* draft,
               Plan* plan) {
  plan->param_index = params->Resolve(graph);
  draft->graph = &graph;
  draft->options = options;
  draft->devices = plan->devices = DevicesOf(graph, options);
  for (Device* device : plan->devices) device->measured_choices().Replay(options.replay);
  draft->options.accumulate |= graph.spec.options.microbatches > 1;
  ChooseKernels(draft, plan, params);
  PlanMemory(*plan, draft);
  plan->notes = draft->notes;
  plan->saved = draft->saved;
  GradientUse gradients = FindGradientUse(*draft, *plan);
  if (!options.gradients_consumed) gradients.lives.clear();
  const ParamBytes bytes =
      params->Place(options.backward, gradients.order, std::move(gradients.lives));
  CountMemory(*draft, bytes, *params, plan);
}

// Implements MemoryNeed::at_batch.
int64_t BytesAtBatch(const NetSpec& spec, const PlanOptions& options, DType dtype, int64_t rows) {
  const Graph graph = MakeGraph(WithBatch(spec, rows));
  ParamStore params(options.device, dtype, 0);
  Draft draft;
  Plan plan;
  MakeDraft(graph, options, &params, &draft, &plan);
  return plan.memory.activations + plan.memory.scratch + plan.memory.kept;
}

}  // namespace

int64_t PlanBuffers::bytes() const {
  int64_t bytes = 0;
  for (const std::vector<Buffer>* buffers : {&arenas, &scratch, &constants}) {
    for (const Buffer& buffer : *buffers) bytes += buffer.bytes();
  }
  return bytes;
}

std::unique_ptr<Plan> MakePlan(const Graph& graph, const PlanOptions& options, ParamStore* params,
                               const std::shared_ptr<PlanBuffers>& memory) {
  auto plan = std::make_unique<Plan>();
  Draft draft;
  MakeDraft(graph, options, params, &draft, plan.get());
  plan->memory.at_batch = [&graph, options, dtype = params->dtype()](int64_t rows) {
    return BytesAtBatch(graph.spec, options, dtype, rows);
  };
  if (memory != nullptr && FitsIn(draft, *memory)) {
    plan->buffers = memory;
  } else {
    CheckFits(graph, *plan, options, *params);
    plan->buffers = AllocateBuffers(draft, memory != nullptr);
  }
  params->Allocate(options.runs);
  Assembler(draft, plan.get(), params).Run();
  return plan;
}

}  // namespace doppio

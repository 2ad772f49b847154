#include "core/net/plan/plan.h"

#include <map>
#include <numeric>
#include <set>

#include "core/base/threads.h"
#include "core/math/tensor_ops.h"
#include "core/net/plan/plan_draft.h"

namespace doppio {
namespace {

// Converts a finished draft into bound kernels and steps.
class Assembler {
 public:
  Assembler(Draft* draft, Plan* plan, ParamStore* params)
      : draft_(*draft), graph_(*draft->graph), plan_(*plan), params_(*params) {}

  // Computes the offsets of the constant gradients and returns their total bytes.
  int64_t PlaceConstants() {
    std::vector<int> places;
    for (const Group& g : draft_.groups) {
      Lifetime life;
      life.bytes = g.constant_grad ? g.spec.bytes() : 0;
      constant_blocks_.push_back(life);
      places.push_back(g.place);
    }
    constant_bytes_ = PlaceBlocksOf(places, draft_.devices.size(), &constant_blocks_);
    for (size_t i = 0; i < draft_.devices.size(); ++i)
      plan_.device_bytes.push_back(constant_bytes_[i] + draft_.arenas[i] + draft_.scratch[i] +
                                   draft_.kept[i]);
    return std::accumulate(constant_bytes_.begin(), constant_bytes_.end(), int64_t{0});
  }

  // Returns true if `memory` is large enough for the plan.
  bool FitsIn(const PlanBuffers& memory) const {
    const auto fit = [](const std::vector<int64_t>& bytes, const std::vector<Buffer>& buffers) {
      bool all = true;
      for (size_t i = 0; i < bytes.size(); ++i) all = all && bytes[i] <= buffers[i].bytes();
      return all;
    };
    return fit(draft_.arenas, memory.arenas) && fit(draft_.scratch, memory.scratch) &&
           fit(constant_bytes_, memory.constants);
  }

  // Allocates the plan's memory, a quarter larger if `grows`.
  void Allocate(bool grows) {
    plan_.buffers = std::make_shared<PlanBuffers>();
    const auto allocate = [&](const std::vector<int64_t>& bytes, std::vector<Buffer>* buffers) {
      for (size_t i = 0; i < bytes.size(); ++i)
        buffers->emplace_back(draft_.devices[i], bytes[i] + (grows ? bytes[i] / 4 : 0));
    };
    allocate(draft_.arenas, &plan_.buffers->arenas);
    allocate(draft_.scratch, &plan_.buffers->scratch);
    allocate(constant_bytes_, &plan_.buffers->constants);
  }

  // Binds the kernels to plan_.buffers.
  void Run() {
    FillConstants();
    plan_.tensors.resize(graph_.nodes.size());
    for (const Item& item : draft_.items)
      forward_.push_back(item.view      ? PlanStep()
                         : item.reorder ? ForwardReorder(item)
                                        : BindLayer(item));
    AddHostStore();
    for (int time = 0; time <= draft_.end(); ++time) AddEvent(time);
    if (draft_.options.backward) MarkReady();
    ShowEdges();
    AddLosses();
  }

 private:
  Group& group(int id) { return draft_.groups[id]; }

  void FillConstants() {
    constant_.resize(draft_.groups.size());
    for (size_t g = 0; g < draft_.groups.size(); ++g) {
      if (!draft_.groups[g].constant_grad) continue;
      const int place = draft_.groups[g].place;
      constant_[g] = InBuffer(plan_.buffers->constants[place], constant_blocks_[g].offset);
      const float weight = draft_.options.user_gradients ? 0 : draft_.groups[g].loss_weight;
      const ConstantGradient start{Tensor(draft_.groups[g].spec, constant_[g]), weight, place};
      FillTensor(start.gradient, start.weight, place);
      plan_.constant_gradients.push_back(start);
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

  static void* InBuffer(const Buffer& buffer, int64_t offset) {
    return static_cast<char*>(buffer.data()) + offset;
  }

  void* At(int block) {
    if (block < 0) return nullptr;
    return InBuffer(plan_.buffers->arenas[draft_.block_place[block]], draft_.blocks[block].offset);
  }

  Tensor Value(int g, const TensorSpec& spec) { return Tensor(spec, At(group(g).storage)); }

  Tensor TopGradient(const Item& item, size_t i) {
    if (i >= item.top_grads.size()) return Tensor(item.top_specs[i], nullptr);
    const int block = item.top_grads[i];
    return Tensor(item.top_specs[i], block == -2 ? constant_[item.tops[i]] : At(block));
  }

  Tensor BottomGradient(const Item& item, size_t i) {
    const int block = i < item.bottom_grads.size() ? item.bottom_grads[i] : -1;
    return Tensor(item.bottom_specs[i], At(block));
  }

  PlanStep BindLayer(const Item& item) {
    const Unit& unit = draft_.UnitOf(item);
    KernelTensors t;
    for (size_t i = 0; i < item.bottoms.size(); ++i) {
      t.bottoms.push_back(Value(item.bottoms[i], item.bottom_specs[i]));
      t.bottom_grads.push_back(BottomGradient(item, i));
    }
    for (size_t i = 0; i < item.tops.size(); ++i) {
      t.tops.push_back(Value(item.tops[i], item.top_specs[i]));
      t.top_grads.push_back(TopGradient(item, i));
    }
    const int replica = draft_.ReplicaAt(item.place);
    for (size_t i = 0; i < unit.params.size(); ++i) {
      const Param& param = params_.params()[StoreIndex(unit.params[i])];
      t.params.push_back(param.ValueOf(replica));
      t.params.back().shape = unit.param_shapes[i];
      t.param_grads.push_back(param.GradientOf(replica));
      t.param_grads.back().shape = unit.param_shapes[i];
      if (!item.backward || !unit.param_gradient[i]) t.param_grads.back().raw = nullptr;
    }
    t.saved = At(item.saved);
    t.scratch = plan_.buffers->scratch[item.place].data();
    plan_.tensors[item.node] = t;
    const ThreadCount threads(draft_.devices[item.place]->properties.threads);
    plan_.kernels[item.node]->Bind(std::move(t));
    return StepOf(StepKind::kLayer, item);
  }

  static PlanStep StepOf(StepKind kind, const Item& item) {
    PlanStep step;
    step.kind = kind;
    step.node = item.node;
    step.place = item.place;
    return step;
  }

  // A move runs on the device that reads the value, in both directions.
  PlanStep ReorderStep(const Item& item, const Tensor& from, const Tensor& to) {
    const StepKind kind = item.view   ? StepKind::kCopy
                          : item.move ? StepKind::kMove
                                      : StepKind::kReorder;
    PlanStep step = StepOf(kind, item);
    step.from = from;
    step.to = to;
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

  PlanStep ForwardReorder(const Item& item) {
    return ReorderStep(item, Value(item.bottoms[0], item.bottom_specs[0]),
                       Value(item.tops[0], item.top_specs[0]));
  }

  // Creates the host store and the steps that copy its blocks. At equal times, steps that complete
  // a copy to the host come first, because they free memory.
  void AddHostStore() {
    std::vector<StoredBlock> blocks;
    for (const Offload& offload : draft_.offloads) {
      blocks.push_back({At(offload.block), draft_.blocks[offload.block].bytes});
    }
    auto add = [&](StepKind kind, std::map<int, std::vector<PlanStep>>* steps, auto time) {
      for (size_t slot = 0; slot < blocks.size(); ++slot) {
        PlanStep step;
        step.kind = kind;
        step.slot = static_cast<int>(slot);
        (*steps)[time(draft_.offloads[slot])].push_back(step);
      }
    };
    add(StepKind::kSave, &after_, [](const Offload& o) { return o.last_use; });
    add(StepKind::kSaved, &before_, [](const Offload& o) { return o.hole_begin; });
    add(StepKind::kFetch, &before_, [](const Offload& o) { return o.hole_end + 1; });
    add(StepKind::kFetched, &before_, [](const Offload& o) { return o.next_use; });
    if (!blocks.empty()) plan_.host_store = MakeHostStore(draft_.options.device, std::move(blocks));
  }

  void AddEvent(int time) {
    const Event& event = draft_.events[time];
    const bool forward = event.kind == Event::kForward;
    if (!forward && !draft_.options.backward) return;
    const Item& item = draft_.items[event.item];
    std::vector<PlanStep>& steps = forward ? plan_.forward : plan_.backward;
    auto add_copies = [&](std::map<int, std::vector<PlanStep>>* copies) {
      for (PlanStep& step : (*copies)[time]) {
        step.node = item.node;
        step.backward = !forward;
        steps.push_back(step);
      }
    };
    add_copies(&before_);
    if (event.kind == Event::kBackward) {
      AddBackward(item);
    } else if (!item.view) {
      steps.push_back(forward_[event.item]);
      steps.back().again = !forward;
    }
    add_copies(&after_);
  }

  int StoreIndex(int graph_param) const { return plan_.param_index[graph_param]; }

  void AddBackward(const Item& item) {
    if (!item.backward) return;
    const size_t first = plan_.backward.size();
    for (const Item::Fill& start : item.fills) {
      PlanStep fill = StepOf(StepKind::kFill, item);
      fill.place = group(start.group).place;
      fill.value = group(start.group).loss_weight;
      fill.to = Tensor(group(start.group).spec, At(start.block));
      plan_.backward.push_back(fill);
    }
    for (const Item::Copy& own : item.copies) {
      PlanStep copy = StepOf(StepKind::kCopy, item);
      copy.to = TopGradient(item, own.top);
      copy.from = Tensor(copy.to, own.from == -2 ? constant_[item.tops[own.top]] : At(own.from));
      plan_.backward.push_back(copy);
    }
    PlanStep step = StepOf(StepKind::kLayer, item);
    if (item.reorder) {
      if (item.bottom_grads.empty() || item.bottom_grads[0] < 0) return;
      step = ReorderStep(item, TopGradient(item, 0), BottomGradient(item, 0));
    } else {
      const Unit& unit = draft_.UnitOf(item);
      for (size_t i = 0; i < unit.params.size(); ++i) {
        const bool wanted = unit.param_gradient[i];
        step.first_use.push_back(wanted && seen_params_.insert(StoreIndex(unit.params[i])).second);
      }
    }
    step.backward = true;
    plan_.backward.push_back(step);
    for (const Item::Addition& addition : item.additions) {
      PlanStep add = StepOf(StepKind::kAdd, item);
      const size_t bottom = addition.bottom;
      add.place = group(item.bottoms[bottom]).place;
      add.from = Tensor(item.bottom_specs[bottom], At(addition.from));
      add.before = Tensor(item.bottom_specs[bottom], At(addition.before));
      add.to = Tensor(item.bottom_specs[bottom], At(addition.to));
      plan_.backward.push_back(add);
    }
    for (size_t s = first; s < plan_.backward.size(); ++s) plan_.backward[s].backward = true;
  }

  // A parameter's gradient is complete after the last step that adds to it.
  void MarkReady() {
    std::map<int, const Unit*> units;
    for (const Unit& unit : draft_.units) units[unit.head()] = &unit;
    std::vector<bool> seen(params_.params().size(), false);
    for (size_t s = plan_.backward.size(); s-- > 0;) {
      PlanStep& step = plan_.backward[s];
      if (step.kind != StepKind::kLayer || step.again) continue;
      const Unit& unit = *units.at(step.node);
      for (size_t i = 0; i < unit.params.size(); ++i) {
        const int store = StoreIndex(unit.params[i]);
        if (!unit.param_gradient[i] || seen[store]) continue;
        seen[store] = true;
        step.ready.push_back(store);
      }
    }
  }

  // Records the tensors of values and gradients that keep their memory to the end of the iteration.
  void ShowEdges() {
    plan_.values.resize(graph_.edges.size());
    plan_.grads.resize(graph_.edges.size());
    for (size_t e = 0; e < graph_.edges.size(); ++e) {
      const int id = draft_.edge_group[e];
      if (id < 0) continue;  // the edge is inside a chain
      const Group& g = group(id);
      const TensorSpec spec{graph_.edges[e].shape, g.spec.dtype, g.spec.layout};
      plan_.values[e] = g.pinned ? Value(id, spec) : Tensor(spec, nullptr);
      const bool kept = draft_.options.keep_all && g.grad_storage >= 0;
      plan_.grads[e] = Tensor(spec, kept ? At(g.grad_storage) : constant_[id]);
    }
  }

  void AddLosses() {
    for (size_t e = 0; e < graph_.edges.size(); ++e) {
      const Edge& edge = graph_.edges[e];
      if (edge.loss_weight == 0) continue;
      const Group& g = group(draft_.edge_group[e]);
      LossTerm term{plan_.values[e], edge.loss_weight, Tensor(), g.place};
      if (g.implicit_weight && g.grad_storage >= 0) {
        term.gradient = Tensor(g.spec, At(g.grad_storage));
        FillTensor(term.gradient, g.loss_weight, g.place);
      }
      plan_.losses.push_back(term);
    }
  }

  Draft& draft_;
  const Graph& graph_;
  Plan& plan_;
  ParamStore& params_;
  std::vector<Lifetime> constant_blocks_;  // per group
  std::vector<int64_t> constant_bytes_;    // per device
  std::vector<void*> constant_;            // per group: its constant gradient, or null
  std::set<int> seen_params_;
  std::vector<PlanStep> forward_;                        // per item: its forward step
  std::map<int, std::vector<PlanStep>> before_, after_;  // copies to and from the host, by time
};

// Makes a plan up to the point where its memory is known: kernels, offsets and `plan->memory`.
Assembler MakeDraft(const Graph& graph, const PlanOptions& options, ParamStore* params,
                    Draft* draft, Plan* plan) {
  plan->param_index = params->Resolve(graph);
  draft->graph = &graph;
  draft->options = options;
  draft->devices = plan->devices = DevicesOf(graph, options);
  for (Device* device : plan->devices) device->measured_choices().Replay(options.replay);
  const int microbatches = graph.spec.options.microbatches;
  draft->options.accumulate |= microbatches > 1;
  ChooseKernels(draft, plan, params);
  PlanMemory(*plan, draft);
  plan->notes = draft->notes;
  plan->saved = draft->saved;
  GradientUse gradients = FindGradientUse(*draft, *plan);
  if (!options.gradients_consumed) gradients.lives.clear();
  const ParamBytes bytes =
      params->Place(options.backward, gradients.order, std::move(gradients.lives));
  Assembler assembler(draft, plan, params);
  CountMemory(*draft, bytes, assembler.PlaceConstants(), *params, plan);
  return assembler;
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
  Assembler assembler = MakeDraft(graph, options, params, &draft, plan.get());
  plan->memory.at_batch = [&graph, options, dtype = params->dtype()](int64_t rows) {
    return BytesAtBatch(graph.spec, options, dtype, rows);
  };
  if (memory != nullptr && assembler.FitsIn(*memory)) {
    plan->buffers = memory;
  } else {
    CheckFits(graph, *plan, options, *params);
    assembler.Allocate(memory != nullptr);
  }
  params->Allocate(options.runs);
  assembler.Run();
  return plan;
}

}  // namespace doppio

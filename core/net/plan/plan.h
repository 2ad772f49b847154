// The plan: how a graph is computed. A plan has a kernel for each layer, the layouts and the
// reorders between them, lifetimes and offsets of all blocks of memory, and the list of steps. It
// is made once, and the net runs it.
#ifndef DOPPIO_CORE_NET_PLAN_PLAN_H_
#define DOPPIO_CORE_NET_PLAN_PLAN_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/device/host_store.h"
#include "core/net/contract/layer.h"
#include "core/net/graph/graph.h"
#include "core/net/plan/memory_need.h"
#include "core/net/store/params.h"

namespace doppio {

class Converter;  // core/math/tensor_ops.h

// The ways in which a net saves memory during training. They do not change the results.
struct MemorySaving {
  // Number of segments of forward. For all segments but the last, backward does not keep the values
  // that it reads but computes them again. 1 keeps everything; 0 chooses a number that needs about
  // the least memory.
  int segments = 1;
  // Recomputes only layers without multiply-adds (norms, activations, poolings, joins).
  bool light = false;
  // Limit of the memory for activations, in bytes. Above the limit, the largest blocks that are
  // idle for longest are kept in host memory between forward and backward. 0 offloads as few blocks
  // as bring about the least memory; a negative value offloads none.
  int64_t activation_bytes = -1;
  int64_t min_offloaded_bytes = 1 << 20;  // smaller blocks are never offloaded
};

// The options of a plan.
struct PlanOptions {
  Device* device = nullptr;
  // The devices on which the user places layers, by name (DevicesOfPlace). Empty: `device` computes
  // all layers.
  std::map<std::string, Device*> places;
  DType dtype = DType::kFloat32;  // type of the parameters and of the arithmetic
  bool backward = false;
  // The number of this net's micro-batch (NetOptions::microbatches).
  int microbatch = 0;
  // The preferred engine: its kernels take precedence over kernels of higher rank. Layers for which
  // the device has no such kernel, or whose kernel declines, get the usual one. "reference" has a
  // kernel for every layer on the CPU. "": the ranks decide.
  std::string engine;
  // Net::Backward may be asked to add to the gradients of the previous pass (iter_size).
  bool accumulate = true;
  // The GradientSink uses up each parameter's gradient when it is told that the gradient is ready.
  bool gradients_consumed = false;
  // If positive, it also uses up larger gradients in slices of at most this many bytes, where a
  // kernel can compute slices (GradientSink::ReadySlice).
  int64_t gradient_slice_bytes = int64_t{64} << 20;
  // Layers may be computed together if the results are the same (core/net/contract/fusion.h).
  bool fusion = true;
  EngineOptions engine_options;
  // Measured choices of another run, which the kernels repeat (MeasuredChoices::lines).
  std::vector<std::string> replay;
  MemorySaving saving;
  // Copies of the learnable parameters that a solver will allocate on the device after its nets.
  int history_slots = 0;
  // Returns the bytes of scratch memory that its updates will allocate as well; null: none.
  std::function<int64_t(const std::vector<Param>&)> update_scratch;
  // Number of ranks that divide these copies among themselves.
  int history_ranks = 1;
  // Bytes per gradient element that the exchange with other ranks will allocate on the device.
  int exchange_bytes = 0;
  // If false, the plan is only described and never runs: parameters and constants get memory, but
  // no values.
  bool runs = true;
  // Each blob and its gradient keep their own memory to the end of an iteration. Disables fusion.
  bool keep_all = false;
  // Edges of the graph whose values a program reads after forward, like outputs of the net: they
  // are stored in the plain layout and keep their memory. Edges inside a chain are left out.
  std::vector<int> shown = {};
  bool sync_statistics = false;  // see KernelArgs
  // For a net without a loss: backward starts from the values that the user writes to the gradients
  // of the outputs. They are zero until then.
  bool user_gradients = false;
};

// The kinds of steps of a plan.
enum class StepKind {
  kLayer,    // a kernel's Forward or Backward
  kReorder,  // converts an edge's value or gradient to another layout or type
  kFill,     // initialises a gradient with its loss weight
  kAdd,      // adds a further contribution to a gradient
  kCopy,     // copies a gradient: of a view's top to its bottom, or if a layer overwrites the
             // gradient while other layers still read it
  kMove,     // copies a value in forward, or a gradient in backward, to another device
  // Calls of HostStore (core/device/host_store.h):
  kSave,     // the copy of a block to host memory starts
  kSaved,    // the copy is complete: the block's memory may be overwritten
  kFetch,    // the copy back starts
  kFetched,  // the copy back is complete
};

// One step of forward or backward. Each member comment names the kinds of step that use the member.
struct PlanStep {
  StepKind kind = StepKind::kLayer;
  bool backward = false;
  bool again = false;  // a recomputing forward of a layer or reorder within backward
  int slot = -1;       // kSave, kSaved, kFetch, kFetched: block of the host store
  int node = 0;        // the layer of the step (a chain's head; for a reorder, its first reader)
  int place = 0;       // index in Plan::devices of the device that runs the step
  int peer = 0;        // kMove: the place of `from` in forward and of `to` in backward
  int edge = -1;       // kMove: the blob
  Tensor from, to;     // kReorder, kCopy, kMove; kAdd: to = before + from; kFill writes `to`
  Tensor before;       // kAdd: the gradient so far; usually `to` itself
  std::shared_ptr<const Converter> reorder;
  float value = 0;  // kFill: the loss weight
  // kLayer in backward: true for parameters that get their first contribution of this pass.
  std::vector<bool> first_use;
  std::vector<int> ready;  // parameters (of the store) whose gradient is complete after this step
};

// One addend of the net's loss.
struct LossTerm {
  Tensor value;
  float weight = 0;
  // If present, the first element is the weight of the loss, as the loss's readers wrote it in the
  // last backward.
  Tensor gradient;
  int place = 0;  // index in Plan::devices
};

// A gradient that always equals its loss weight times the loss scale.
struct ConstantGradient {
  Tensor gradient;
  float weight = 0;
  int place = 0;  // index in Plan::devices
};

// The effect of MemorySaving.
struct MemorySaved {
  int64_t plain_activations = 0;  // bytes that activations would take without MemorySaving
  int segments = 1;
  int layers_recomputed = 0;   // layers whose forward runs twice
  double work_recomputed = 0;  // their share of forward's multiply-adds
  int64_t host_bytes = 0;      // bytes of the values offloaded to host memory
  int offloaded = 0;           // number of offloaded blocks
};

// The memory of a net's plans, of which one runs at a time.
struct PlanBuffers {
  std::vector<Buffer> arenas, scratch, constants;  // per device

  int64_t bytes() const;
};

// The result of planning: bound kernels, steps and memory. Owns all buffers except those of the
// parameters.
struct Plan {
  // Per node. Null for views, and for members of a chain other than its head.
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<const KernelType*> kernel_types;  // null where `kernels` is null
  std::vector<int> computed_with;  // per node: the head of its chain, usually the node itself
  // Per node: the choice of the kernel, then those that the kernel has made. Empty where `kernels`
  // is null.
  std::vector<std::vector<CandidateChoice>> choices;
  std::vector<KernelTensors> tensors;  // per node, as bound
  std::vector<Tensor> values, grads;   // per edge; absent if not kept to the end of an iteration
  std::vector<PlanStep> forward, backward;
  std::vector<LossTerm> losses;
  std::vector<ConstantGradient> constant_gradients;  // filled for a loss scale of 1
  std::vector<int> param_index;  // index of the graph's parameter -> index of the store's parameter
  std::vector<std::string> notes;  // messages, for example about layers that cannot work in place
  MemoryNeed memory;
  MemorySaved saved;
  int reorders = 0;
  // The devices that compute, indexed by Node::place. One device if no layer is placed. A device of
  // several places may occur more than once.
  std::vector<Device*> devices;
  // Per device: its arena, its scratch memory and what its kernels keep.
  std::vector<int64_t> device_bytes;

  // Null for a view, and for a member of a chain other than its head.
  Kernel* kernel(int node) const { return kernels[node].get(); }

  std::unique_ptr<HostStore> host_store;  // null if no block is offloaded
  std::shared_ptr<PlanBuffers> buffers;
};

// Plans `graph` on a device and binds the kernels. `graph` must outlive calls of
// Plan::memory.at_batch. Throws MemoryShortage, before it allocates memory, if the device has less
// free memory than the net, its history and its exchange need.
//
// `memory` is that of an earlier plan of the net, or null. If it is large enough, the plan uses it
// instead of its own; otherwise the plan's memory has room for somewhat larger plans as well.
std::unique_ptr<Plan> MakePlan(const Graph& graph, const PlanOptions& options, ParamStore* params,
                               const std::shared_ptr<PlanBuffers>& memory = nullptr);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_PLAN_H_

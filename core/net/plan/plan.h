// How a graph is computed: a kernel for each layer, layouts and the reorders between them, which
// versions share memory, lifetimes and offsets, and the list of steps. Made once; the net runs it.
#ifndef DOPPIO_CORE_NET_PLAN_PLAN_H_
#define DOPPIO_CORE_NET_PLAN_PLAN_H_

#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/device/host_store.h"
#include "core/net/graph/graph.h"
#include "core/net/graph/layer.h"
#include "core/net/plan/memory_need.h"
#include "core/net/store/params.h"

namespace doppio {

class Converter;  // core/math/tensor_ops.h

// How a net that trains gets by with less memory; the results stay what they are.
struct MemorySaving {
  // Forward is cut into so many segments, of which backward computes all but the last again instead
  // of keeping what it reads of them. 1: keep everything; 0: as many as need about the least
  // memory.
  int segments = 1;
  bool light =
      false;  // only layers without multiply-adds (norms, activations, poolings, joins) run again
  // What activations may take; beyond that, the largest and longest idle ones wait in host memory
  // between forward and backward. 0: as many as bring about the least; negative: none.
  int64_t activation_bytes = -1;
  int64_t least_offloaded = 1 << 20;  // smaller blocks stay
};

struct PlanOptions {
  Device* device = nullptr;
  DType dtype = DType::kFloat32;  // of parameters, and what is computed in
  bool backward = false;
  std::string engine;  // "reference": only those kernels; "" or another: that engine's where it has
                       // one, else the best
  bool accumulate =
      true;  // Net::Backward may be asked to add to the gradients of the pass before (iter_size)
  bool gradients_consumed =
      false;  // each parameter's gradient is used up when a GradientSink is told that it is ready
  bool fusion = true;  // layers may be computed together where that gives the same numbers
                       // (core/net/plan/fusion.h)
  MemorySaving saving;
  int history_slots =
      0;  // copies of the learnable parameters that a solver will ask of the device after its nets
  int exchange_bytes = 0;  // that each gradient needs on its way to other ranks, likewise
  bool keep_all = false;   // every blob and its gradient keep their own memory to the end of an
                           // iteration; no fusion
  bool sync_statistics = false;  // see KernelArgs
};

enum class StepKind {
  kLayer,    // a kernel's Forward or Backward
  kReorder,  // value or gradient of one edge into another layout
  kFill,     // a gradient starts as its loss weight
  kAdd,      // a further contribution to a gradient
  kCopy,     // a gradient that a layer writes over while others still read it
  // Of HostStore (core/device/host_store.h):
  kSave,     // a block begins its way to host memory
  kSaved,    // and is there: its place may be written
  kFetch,    // it begins its way back
  kFetched,  // and is back
};

struct PlanStep {
  StepKind kind = StepKind::kLayer;
  bool backward = false;
  bool again = false;  // forward of the layer, or of a reorder, a second time in this iteration
  int slot = -1;       // kSave and so on: of the store
  int node = 0;        // the layer it belongs to (a chain's head; the reader, for a reorder)
  Tensor from, to;     // kReorder, kCopy; kAdd: to = before + from; kFill writes `to`
  Tensor before;       // kAdd: what is added to; mostly `to` itself
  std::shared_ptr<const Converter> reorder;
  float value = 0;  // kFill
  std::vector<bool>
      first_use;           // kLayer backward: parameter i gets its first contribution of this pass
  std::vector<int> ready;  // parameters (of the store) that are complete after this step
};

// One addend of the net's loss.
struct LossTerm {
  Tensor value;
  float weight = 0;
  Tensor gradient;  // present: its first element is the weight, as readers of the loss set it in
                    // the last backward
};

// A gradient that is its loss weight, times the loss scale, and nothing else.
struct ConstantGradient {
  Tensor gradient;
  float weight = 0;
};

// What MemorySaving came to.
struct MemorySaved {
  int64_t plain_activations = 0;  // what they would take without it
  int segments = 1;
  int layers_again = 0;    // whose forward runs twice,
  double work_again = 0;   // and their share in forward's multiply-adds
  int64_t host_bytes = 0;  // of values that wait there
  int offloaded = 0;       // how many those are
};

struct Plan {
  // Null for views and for layers computed with another one.
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<const KernelType*> kernel_types;  // likewise
  std::vector<int> computed_with;               // per node: the head of its chain, mostly itself
  std::vector<std::string> declined;            // per node: "onednn: why" for kernels passed over
  std::vector<KernelTensors> tensors;           // per node, as bound
  std::vector<Tensor> values, grads;            // per edge; absent when not kept to the end
  std::vector<PlanStep> forward, backward;
  std::vector<LossTerm> losses;
  std::vector<ConstantGradient> constant_gradients;  // as for a loss scale of 1
  std::vector<int> param_index;                      // graph param -> store param
  std::vector<std::string> notes;                    // in-place writes refused, and the like
  MemoryNeed memory;
  MemorySaved saved;
  int reorders = 0;

  std::unique_ptr<HostStore> host_store;  // null where nothing waits in host memory
  Buffer arena, scratch, constants;
};

// Throws MemoryShortage, before it asks for memory, where the device has less than the net (and the
// history) needs.
std::unique_ptr<Plan> MakePlan(const Graph& graph, const PlanOptions& options, ParamStore* params);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_PLAN_H_

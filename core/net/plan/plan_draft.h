// The unfinished plan that the files core/net/plan/plan*.cc pass to each other. Apart from tests,
// no other file includes this header.
//
// A time is an index in the draft's list of events: the forward of each item, then the backward of
// each item from the last to the first, and between these the forward of items that are recomputed.
// Memory lifetimes are ranges of times.
#ifndef DOPPIO_CORE_NET_PLAN_PLAN_DRAFT_H_
#define DOPPIO_CORE_NET_PLAN_PLAN_DRAFT_H_

#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device/arena.h"
#include "core/net/contract/fusion.h"
#include "core/net/plan/plan.h"

namespace doppio {

// One set of numbers: a version of a blob, with all its views, in one layout.
struct Group {
  TensorSpec spec;
  int place = 0;                      // the device whose memory has it
  int edge = -1;                      // the blob
  int item = 0;                       // the item that computes it
  std::vector<int> readers;           // items that read it in forward
  std::vector<int> backward_readers;  // items that read it in backward: its maker or its readers
  bool pinned = false;                // must keep its value to the end of the iteration
  bool persistent = false;            // must keep its value in later iterations, too
  bool recomputed = false;            // not kept for backward, but computed a second time
  float loss_weight = 0;
  // Readers' gradients replace the loss weight instead of being added.
  bool implicit_weight = false;
  int storage = -1;             // block of the value
  int grad_storage = -1;        // block of the gradient; -1 if there is none
  bool constant_grad = false;   // the gradient always equals the loss weight
  int64_t constant_offset = 0;  // of such a gradient, in bytes; set by PlaceConstantGradients
  std::vector<int> converted;   // groups with the same numbers in another type or layout
};

// The layers that one kernel computes: a single layer, or a chain (core/net/contract/fusion.h).
struct Unit {
  std::vector<int> nodes;        // from head to tail
  std::vector<ChainLink> chain;  // empty for a single layer
  std::string type;              // the name in KernelTypes
  LayerShape shape;
  std::vector<int> bottoms, tops;  // edges of the graph
  std::vector<int> params;         // parameters of the graph
  std::vector<Shape> param_shapes;
  bool backward = false;
  std::vector<bool> bottom_gradient, param_gradient;

  int head() const { return nodes.front(); }
};

// Layers from a node on that one kernel may compute, and the arguments of that kernel without form,
// chain and choices, which MakeUnitKernel sets.
struct UnitCase {
  KernelArgs args;
  Unit unit;
};

// A unit's kernel, or a reorder or move of one group for a unit.
struct Item {
  bool reorder = false;
  bool move = false;  // a reorder that copies from one device to another
  // A reorder whose top has the value of the bottom, in the same memory, and a gradient of its own.
  bool view = false;
  int place = 0;                   // the device that runs the item
  int node = 0;                    // the unit's head
  int unit = -1;                   // -1 for a reorder
  std::vector<int> bottoms, tops;  // groups
  std::vector<TensorSpec> bottom_specs,
      // This item's views of the groups; shapes may differ from the groups' shapes.
      top_specs;
  bool backward = false;
  std::vector<bool> bottom_gradient;
  bool in_place_ok = false;

  // Set by MakeSchedule.
  int segment = 0;
  bool again = false;  // forward runs a second time, within backward
  int recompute_time = -1, backward_time = -1;

  int saved = -1;  // block; set by PlaceKernelMemory

  // Set by PlaceGradients: blocks, -1 if absent. A top gradient of -2 is the constant gradient of
  // the top's group.
  std::vector<int> bottom_grads, top_grads;
  // Contributions to gradients that other items have already written. Each contribution is written
  // to its own block (or is the top's gradient) and then added.
  struct Addition {
    int bottom;  // index among this item's bottoms
    int from;    // block of the contribution
    int before;  // block of the gradient before the addition
    int to;      // block of the sum, usually `before`
  };
  std::vector<Addition> additions;
  // Top gradients that other items still read, copied because this item overwrites them.
  struct Copy {
    int top;  // index among this item's tops
    int from;
  };
  std::vector<Copy> copies;
  // Gradients that are initialised with their loss weight before this item's backward.
  struct Fill {
    int group;
    int block;
  };
  std::vector<Fill> fills;
};

// One entry of the schedule: forward, a repeated forward, or backward of an item.
struct Event {
  enum Kind { kForward, kRecompute, kBackward };
  Kind kind = kForward;
  int item = 0;
};

// A block whose value is kept in host memory while other blocks use its memory.
struct Offload {
  int block = 0;
  int last_use = 0;    // time of the last use before the offload
  int hole_begin = 0;  // first time at which the memory may be overwritten
  int hole_end = 0;    // last time at which the memory may be overwritten
  int next_use = 0;    // time of the first use after the offload
};

// The unfinished plan.
struct Draft {
  const Graph* graph = nullptr;
  PlanOptions options;
  std::vector<Unit> units;
  std::vector<Item> items;
  std::vector<Group> groups;
  std::vector<int> edge_group;  // per edge of the graph; -1 inside a chain
  std::vector<Event> events;    // indexed by time
  std::vector<Lifetime> blocks;
  std::vector<int> block_place;                           // per block: its device
  std::vector<Device*> devices;                           // see Plan
  std::vector<int64_t> arenas, scratch, kept, constants;  // per device: bytes
  // Per block: the times at which the block is used. Empty for blocks that must not be offloaded.
  std::vector<std::vector<int>> uses;
  std::vector<Offload> offloads;
  MemoryUse memory;
  MemorySaved saved;
  std::vector<std::string> notes;

  // Adds a block of the device `place` that lives from time `first` to `last`. Returns its index.
  int AddBlock(int place, int64_t bytes, int first, int last);
  // Returns the last time.
  int end() const { return static_cast<int>(events.size()) - 1; }
  const Unit& UnitOf(const Item& item) const { return units[item.unit]; }
  int PlaceOf(const Node& node) const { return devices.size() > 1 ? node.place : 0; }
  // Returns the devices that compute the layers of a place: micro-batch m is computed on number
  // m % size. There are at most as many as micro-batches.
  std::vector<Device*> DevicesAt(int place) const;
  // Returns the number of this micro-batch's device among those of a place.
  int ReplicaAt(int place) const {
    return options.microbatch % static_cast<int>(DevicesAt(place).size());
  }
};

// Returns true if tensors with these specs can have the same memory.
inline bool SameMemory(const TensorSpec& a, const TensorSpec& b) {
  return a.layout == b.layout && a.dtype == b.dtype && a.bytes() == b.bytes();
}

inline int64_t TotalBytes(const std::vector<int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

// Computes the offsets of blocks, which have memory on the devices `places`. Returns the bytes of
// each of `devices` devices' arenas.
std::vector<int64_t> PlaceBlocksOf(const std::vector<int>& places, size_t devices,
                                   std::vector<Lifetime>* blocks);

// Returns node `n` and the layers after it that, as far as the graph shows, one kernel may compute
// together with `n`: each reads the only top of the layer before it, which no other layer reads.
// Returns at most as many layers as the longest registered chain has.
std::vector<int> ChainFrom(const Graph& graph, int n);
// Returns these layers as one unit, or nullopt if no fusion accepts them. A single layer is always
// a unit.
std::optional<Unit> MakeUnit(const Graph& graph, const std::vector<int>& nodes);

// Returns the devices that compute this micro-batch, indexed by Node::place. Throws UserError if
// the net has a device that is not in the options.
std::vector<Device*> DevicesOf(const Graph& graph, const PlanOptions& options);
// Fills plan->device_bytes and plan->memory, except at_batch. `bytes` are those of the parameters.
void CountMemory(const Draft& draft, const ParamBytes& bytes, const ParamStore& params, Plan* plan);
// Throws MemoryShortage if a device has less free memory than the plan, its parameters, their
// history and their exchange need.
void CheckFits(const Graph& graph, const Plan& plan, const PlanOptions& options,
               const ParamStore& params);

// Makes the first kernel that does not decline: those of the longest unit come first. The last of
// `cases` is the head alone. `rows_vary` is true if the head must know its number of valid rows.
// Fills the head's elements of plan->kernels, kernel_types and choices, and returns the unit of the
// kernel. Throws UserError if all kernels decline.
Unit MakeUnitKernel(const Draft& draft, bool rows_vary, std::vector<UnitCase> cases, Plan* plan);
// Chooses kernels and layouts. Fills items, groups, plan->kernels, and the layouts of new
// parameters.
void ChooseKernels(Draft* draft, Plan* plan, ParamStore* params);
// Cuts the items into `segments` segments, at places where few bytes cross. All segments but the
// last drop what backward reads and recompute it by a second forward. Fills events and the times in
// items and groups.
void MakeSchedule(int segments, const Plan& plan, Draft* draft);
// Decides which values share memory and how long each lives. Fills Group::storage and notes.
void PlaceValues(Draft* draft);
// Decides the same of gradients, and which gradients are added, copied or constant.
void PlaceGradients(Draft* draft);
// Adds the blocks that kernels save for backward, and fills scratch and kept.
void PlaceKernelMemory(const Plan& plan, Draft* draft);
// Computes the offsets of the constant gradients. Fills constants, and adds them to memory and
// saved.
void PlaceConstantGradients(Draft* draft);
// Offloads as few blocks as possible, preferring those that are large and idle for long, so that
// the activations take at most `options.saving.activation_bytes`. Fills offloads. Throws UsageError
// if the limit cannot be met.
void ChooseOffloads(Draft* draft);
// The steps that copy offloaded blocks to the host and back, by time, before and after the event of
// that time. At equal times, steps that complete a copy to the host come first, because they free
// memory.
struct OffloadSteps {
  explicit OffloadSteps(const std::vector<Offload>& offloads);
  std::map<int, std::vector<PlanStep>> before, after;
};
// Plans the memory of a draft: calls MakeSchedule, the functions Place... above and, if the options
// request it, ChooseOffloads, and computes the offsets of all blocks.
void PlanMemory(const Plan& plan, Draft* draft);

// The order in which backward completes the parameters, and for each parameter the times between
// which backward works on its gradient.
struct GradientUse {
  std::vector<int> order;
  std::vector<Lifetime> lives;
};
GradientUse FindGradientUse(const Draft& draft, const Plan& plan);
// Sets first_use and ready in the backward steps of all layers.
void MarkContributions(const Draft& draft, Plan* plan);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_PLAN_DRAFT_H_

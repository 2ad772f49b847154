// The plan while it is made: what core/net/plan*.cc hand to each other. Nobody else includes this.
//
// Time is the index in the draft's list of events: the forward of each item, then the backward of
// each from the last to the first, and between those the forward of what is computed again. Memory
// lifetimes are ranges of times.
#ifndef DOPPIO_CORE_NET_PLAN_PLAN_DRAFT_H_
#define DOPPIO_CORE_NET_PLAN_PLAN_DRAFT_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device/arena.h"
#include "core/net/plan/fusion.h"
#include "core/net/plan/plan.h"

namespace doppio {

// One set of numbers: a version of a blob with all views of it, in one layout.
struct Group {
  TensorSpec spec;
  int item = 0;                       // that makes it
  std::vector<int> readers;           // items, forward
  std::vector<int> backward_readers;  // items: its maker or readers
  bool pinned = false;                // must hold its value to the end of the iteration
  bool persistent = false;            // and into the next ones
  bool made_again = false;            // not kept for backward, but computed a second time
  float loss_weight = 0;
  bool implicit_weight = false;  // readers' gradients replace it, else they are added to it
  int storage = -1;              // block of the value
  int grad_storage = -1;         // block of the gradient; -1: none
  bool constant_grad = false;    // the gradient is the loss weight and nothing else
  // Type and layout -> group with the same numbers.
  std::map<std::pair<DType, std::string>, int> converted;
};

// What one kernel computes, seen from outside: a layer, or a chain of them
// (core/net/plan/fusion.h).
struct Unit {
  std::vector<int> nodes;        // head to tail
  std::vector<ChainLink> chain;  // empty for a layer alone
  std::string type;              // as KernelTypes knows it
  LayerShape shape;
  std::vector<int> bottoms, tops;  // edges
  std::vector<int> params;         // of the graph
  std::vector<Shape> param_shapes;
  bool backward = false;
  std::vector<bool> bottom_gradient, param_gradient;

  int head() const { return nodes.front(); }
};

// A unit's kernel, or a reorder of one group for it.
struct Item {
  bool reorder = false;
  int node = 0;                    // the unit's head
  int unit = -1;                   // -1 for a reorder
  std::vector<int> bottoms, tops;  // groups
  std::vector<TensorSpec> bottom_specs,
      top_specs;  // this item's view: shapes may differ from the group's
  bool backward = false;
  std::vector<bool> bottom_gradient;
  bool in_place_ok = false;

  // Filled with the schedule.
  int segment = 0;
  bool again = false;  // forward runs a second time, in backward
  int again_time = -1, backward_time = -1;

  // Filled with the memory: blocks, -1 = absent.
  std::vector<int> bottom_grads, top_grads;  // of gradients; -2: the constant of the top's group
  int saved = -1;
  // Contributions to gradients that others have written to before: made aside (or passed on from
  // the top), then added.
  struct Addition {
    int bottom;  // of this item
    int from;    // where it was made
    int before;  // where the gradient was
    int to;      // where it is from here on; mostly the same
  };
  std::vector<Addition> additions;
  // Top gradients that others still read, copied before backward writes over them.
  struct Copy {
    int top;  // of this item
    int from;
  };
  std::vector<Copy> copies;
  // Gradients that start as their loss weight, before this item.
  struct Fill {
    int group;
    int block;
  };
  std::vector<Fill> fills;
};

// What happens at one time.
struct Event {
  enum Kind { kForward, kAgain, kBackward };
  Kind kind = kForward;
  int item = 0;
};

// A block whose value waits in host memory while others use its place.
struct Offload {
  int block = 0;
  int last_use = 0;    // times: of the last read before,
  int hole_begin = 0;  // from when on the place may be written,
  int hole_end = 0;    // the last one at which it may,
  int next_use = 0;    // and of the first read after
};

struct Draft {
  const Graph* graph = nullptr;
  PlanOptions options;
  std::vector<Unit> units;
  std::vector<Item> items;
  std::vector<Group> groups;
  std::vector<int> edge_group;  // per edge of the graph
  std::vector<Event> events;    // by time
  std::vector<Lifetime> blocks;
  // Of the blocks that may wait elsewhere: the times at which they are used.
  std::vector<std::vector<int>> uses;
  std::vector<Offload> offloads;
  MemoryUse memory;
  MemorySaved saved;
  std::vector<std::string> notes;

  int end() const { return static_cast<int>(events.size()) - 1; }
  int BackwardTime(int item) const { return items[static_cast<size_t>(item)].backward_time; }
  const Unit& UnitOf(const Item& item) const { return units[static_cast<size_t>(item.unit)]; }
};

// Node `n` and the layers after it that could be computed together with it as far as the graph
// tells: each reads the only top of the one before it, which nobody else does.
std::vector<int> ChainFrom(const Graph& graph, int n);
// These layers as one unit; nothing where no fusion takes them. One layer always is one.
std::optional<Unit> MakeUnit(const Graph& graph, const std::vector<int>& nodes);

// Chooses kernels and layouts; fills items, groups, plan->kernels, and the layouts of new
// parameters.
void ChooseKernels(Draft* draft, Plan* plan, ParamStore* params);
// Cuts the items into so many segments, where few bytes cross: those before the last one drop what
// backward reads, and make it again by running forward a second time. Fills events and what items
// and groups know of time.
void MakeSchedule(int segments, const Plan& plan, Draft* draft);
// Decides what shares memory and how long everything lives; fills blocks, uses, notes, and of
// memory what it can say.
void PlaceMemory(const Plan& plan, Draft* draft);
// Makes holes in the lives of blocks that are large and idle for long, as few as bring the
// activations down to `options.saving.activation_bytes`; fills offloads. Throws when that cannot be
// done.
void ChooseOffloads(Draft* draft);
// The last three as the options say, then offsets: the memory of a draft.
void PlanMemory(const Plan& plan, Draft* draft);

// The order in which backward completes the parameters, and from when to when it works on each
// one's gradient.
struct GradientUse {
  std::vector<int> order;
  std::vector<Lifetime> lives;
};
GradientUse FindGradientUse(const Draft& draft, const Plan& plan);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_PLAN_DRAFT_H_

// Chooses a kernel for every layer, and inserts reorders between kernels that need different
// layouts.
#include <algorithm>
#include <deque>

#include "core/base/threads.h"
#include "core/net/contract/changing_tops.h"
#include "core/net/graph/place_layers.h"
#include "core/net/graph/varying_rows.h"
#include "core/net/plan/host_kernel.h"
#include "core/net/plan/param_copies.h"
#include "core/net/plan/plan_groups.h"
#include "core/net/plan/wide_kernel.h"

namespace doppio {
namespace {

constexpr char kReference[] = "reference";

class Chooser {
 public:
  Chooser(Draft* draft, Plan* plan, ParamStore* params)
      : draft_(*draft),
        graph_(*draft->graph),
        plan_(*plan),
        params_(*params),
        groups_(draft),
        rows_(FindVaryingRows(graph_)) {}

  void Run() {
    const size_t nodes = graph_.nodes.size();
    plan_.kernels.resize(nodes);
    plan_.kernel_types.resize(nodes);
    plan_.choices.resize(nodes);
    plan_.computed_with.resize(nodes);
    for (size_t n = 0; n < nodes; ++n) plan_.computed_with[n] = static_cast<int>(n);
    draft_.edge_group.assign(graph_.edges.size(), -1);
    layout_decided_.assign(params_.params().size(), false);
    for (size_t i = 0; i < layout_decided_.size(); ++i) {
      layout_decided_[i] = params_.params()[i].placed();
    }
    for (size_t p = 0; p < graph_.params.size(); ++p) {
      // Users with different shapes of one parameter can share only the plain layout.
      if (graph_.params[p].reshaped) layout_decided_[StoreIndex(static_cast<int>(p))] = true;
    }
    std::vector<bool> computed(nodes, false);
    int stage = 0;
    for (int n : RunningOrder(graph_)) {
      if (graph_.nodes[n].stage != stage) ShowOutputs(stage);
      stage = graph_.nodes[n].stage;
      if (computed[n]) continue;
      if (graph_.nodes[n].shape.view != View::kNone) {
        AddView(n);
      } else {
        for (int done : AddLayers(n)) computed[done] = true;
      }
    }
    ShowOutputs(stage);
    KeepSources();
    plan_.reorders = groups_.reorders();
    std::vector<Kernel*> kernels;
    for (const auto& kernel : plan_.kernels) kernels.push_back(kernel.get());
    ConnectRows(rows_, kernels);
  }

 private:
  int StoreIndex(int graph_param) const { return plan_.param_index[graph_param]; }
  Group& group(int id) { return draft_.groups[id]; }
  int GroupOf(int edge) const { return draft_.edge_group[edge]; }
  const Edge& edge(int id) const { return graph_.edges[id]; }

  TensorSpec SpecOf(int edge_id) {
    const Group& g = group(GroupOf(edge_id));
    return {edge(edge_id).shape, g.spec.dtype, g.spec.layout};
  }

  // Only nets that compute in single precision use 16-bit storage.
  DType StoredType(int edge_id) const {
    const DType dtype = draft_.options.dtype;
    return dtype == DType::kFloat32 && Is16Bit(edge(edge_id).stored) ? edge(edge_id).stored : dtype;
  }

  void AddView(int n) {
    const Node& node = graph_.nodes[n];
    int source = groups_.Move(GroupOf(node.bottoms[0]), n);
    if (node.shape.view == View::kReshape)
      source = groups_.Convert(source,
                               {group(source).spec.shape, group(source).spec.dtype, Layout()}, n);
    // Without keep_all, nobody reads the gradient of a blob before it is complete.
    const bool shares = !draft_.options.keep_all || HasOneContribution(node);
    for (int top : node.tops) {
      const int shown = shares ? source : groups_.Alias(source, top, n);
      draft_.edge_group[top] = shown;
      group(shown).loss_weight += edge(top).loss_weight;
      if (edge(top).loss_weight != 0) group(shown).pinned = true;
    }
  }

  // Returns true if nothing but the top of this view contributes to the gradient of its bottom, so
  // that both have the same gradient.
  bool HasOneContribution(const Node& view) const {
    const Edge& bottom = edge(view.bottoms[0]);
    return view.tops.size() == 1 && bottom.uses.size() == 1 && bottom.loss_weight == 0;
  }

  KernelArgs ArgsFor(const Unit& unit) {
    KernelArgs args;
    const LayerSpec& head = graph_.layer(unit.head());
    args.layer = head.name();
    args.type = head.type();
    args.at = head.At();
    args.train = head.phase() == TRAIN;
    args.seed = head.options.seed;
    args.form = &unit.shape.form;
    args.top_shapes = unit.shape.tops;
    args.param_shapes = unit.param_shapes;
    args.chain = unit.chain.empty() ? nullptr : &unit.chain;
    args.dtype = draft_.options.dtype;
    args.device = draft_.devices[draft_.PlaceOf(graph_.nodes[unit.head()])];
    args.math = args.device->settings.math;
    args.engine_options = draft_.options.engine_options;
    args.choices = &noted_;
    args.backward = draft_.options.backward && unit.backward;
    args.bottom_gradient = unit.bottom_gradient;
    args.sync_statistics = draft_.options.sync_statistics;
    args.param_gradient = unit.param_gradient;
    for (int b : unit.bottoms) args.bottoms.push_back(SpecOf(b));
    for (int t : unit.tops) args.tops.push_back(StoredType(t));
    for (int p : unit.params) {
      const int store = StoreIndex(p);
      args.param_layouts.push_back(params_.params()[store].value.layout);
      args.param_placed.push_back(layout_decided_[store]);
      args.param_may_add.push_back(draft_.options.accumulate || graph_.params[p].uses > 1);
    }
    if (draft_.options.gradients_consumed && !unit.params.empty() && !shapes_may_change_) {
      // A later plan over the same memory slices the same gradients.
      const Param& param = params_.param(StoreIndex(unit.params[0]));
      if (!param.placed() || param.grad_slice > 0)
        args.gradient_slice_bytes = draft_.options.gradient_slice_bytes;
    }
    return args;
  }

  // Layers from a node on that one kernel may compute, with the arguments of the kernel.
  struct UnitCase {
    Unit unit;
    KernelArgs args;
    std::optional<KernelArgs> widened;  // if a bottom or top is stored in 16 bits

    const KernelArgs& wide() const { return widened ? *widened : args; }
  };

  // A kernel for a unit.
  struct Way {
    UnitCase* layers = nullptr;
    const KernelType* type = nullptr;
    // The arguments that the kernel gets: layers->args or layers->wide().
    const KernelArgs* seen = nullptr;

    bool converts() const { return seen != &layers->args; }
    std::string Name() const {
      return type->engine + (layers->unit.chain.empty() ? "" : " for " + layers->unit.type) +
             (converts() && type->narrow ? " on widened copies" : "");
    }
  };

  // Adds node `n` together with as many of the following layers as one kernel supports. Returns the
  // nodes added.
  std::vector<int> AddLayers(int n) {
    std::vector<int> nodes = {n};
    if (draft_.options.fusion && !draft_.options.keep_all) nodes = ChainFrom(graph_, n);
    std::deque<UnitCase> cases;
    std::vector<Way> ways;
    for (; !nodes.empty(); nodes.pop_back()) {
      std::optional<Unit> unit = MakeUnit(graph_, nodes);
      if (!unit) continue;
      UnitCase& added = cases.emplace_back();
      added.unit = std::move(*unit);
      added.args = ArgsFor(added.unit);
      if (HasNarrowEdges(added.args)) added.widened = Widened(added.args);
      AddWays(&added, &ways);
    }
    Unit& unit = MakeKernel(cases.back(), ways).unit;
    std::vector<int> added = unit.nodes;
    AddUnit(std::move(unit));
    return added;
  }

  // Makes the first of the kernels that does not decline, and returns what it computes. Throws if
  // all decline. `alone` is the first layer by itself.
  UnitCase& MakeKernel(const UnitCase& alone, const std::vector<Way>& ways) {
    const int n = alone.unit.head();
    const LayerSpec& spec = graph_.layer(n);
    const ThreadCount threads(alone.args.device->properties.threads);
    try {
      return MakeFirst(alone, ways);
    } catch (const Error& e) {
      if (e.at().known()) throw;
      RethrowWithContext(e, spec.At(), "layer '" + spec.name() + "'");
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      throw Error(ExitCode::kBug, spec.At(),
                  "internal error: " + graph_.Describe(n) + ": " + e.what());
    }
  }

  // Returns the kernels that may compute the unit, best first: those of the preferred engine, then
  // the others by falling rank.
  std::vector<const KernelType*> KernelsFor(const Unit& unit, const std::string& device) const {
    const KernelTypes& registry = KernelTypes::Get();
    std::vector<const KernelType*> types = registry.For(unit.type, device);
    const auto preferred = [&](const KernelType* type) {
      return type->engine == draft_.options.engine;
    };
    const auto others = std::stable_partition(types.begin(), types.end(), preferred);
    // Another engine's chain must not take a layer from the preferred engine.
    const bool takes = std::any_of(unit.nodes.begin(), unit.nodes.end(), [&](int node) {
      const auto single = registry.For(graph_.layer(node).type(), device);
      return std::any_of(single.begin(), single.end(), preferred);
    });
    if (takes && !unit.chain.empty()) types.erase(others, types.end());
    return types;
  }

  // Returns why a kernel cannot compute the unit with these arguments, or "" if it can.
  std::string WhyNot(const KernelType& type, int head, const KernelArgs& args) const {
    if (rows_.counted_by[head] >= 0 && type.engine != kReference)
      return "the number of rows varies";
    return type.declines == nullptr ? "" : type.declines(args);
  }

  // Adds the kernels of a unit, best first. A narrow kernel that declines 16-bit tensors may
  // compute on widened copies, unless a kernel of a lower rank reads the tensors themselves.
  void AddWays(UnitCase* layers, std::vector<Way>* ways) const {
    const Device& device = *layers->args.device;
    std::vector<Way> on_copies;
    const auto add_copies = [&] {
      ways->insert(ways->end(), on_copies.begin(), on_copies.end());
      on_copies.clear();
    };
    for (const KernelType* type : KernelsFor(layers->unit, device.kind())) {
      if (!type->narrow) {
        add_copies();
        ways->push_back({layers, type, &layers->wide()});
        continue;
      }
      ways->push_back({layers, type, &layers->args});
      if (layers->widened) on_copies.push_back({layers, type, &*layers->widened});
    }
    add_copies();
    if (layers->unit.chain.empty() && !device.properties.host_memory)
      ways->push_back({layers, &HostKernelType(), &layers->wide()});
  }

  UnitCase& MakeFirst(const UnitCase& alone, const std::vector<Way>& ways) {
    const int n = alone.unit.head();
    std::unique_ptr<Kernel> on_host;
    std::vector<Candidate> candidates;
    for (const Way& way : ways) {
      const auto place = static_cast<double>(candidates.size());
      candidates.push_back({way.Name(), place, [this, n, place, &way, &on_host] {
                              CandidateTrial trial{"", place, ""};
                              noted_.clear();
                              if (way.type != &HostKernelType()) {
                                trial.declined = WhyNot(*way.type, n, *way.seen);
                                return trial;
                              }
                              on_host = MakeHostKernel(*way.seen, way.layers->unit.shape);
                              if (on_host == nullptr) trial.declined = "it has no plain kernel";
                              return trial;
                            }});
    }
    const CandidateChoice choice = ChooseAmong("kernel", candidates);
    if (choice.chosen < 0) {
      const auto single = std::find_if(ways.begin(), ways.end(),
                                       [&](const Way& way) { return way.layers == &alone; });
      ThrowNoKernel(n, alone.args, choice.Declined(static_cast<size_t>(single - ways.begin())));
    }
    const Way& way = ways[choice.chosen];
    // A kernel that measures has measured when it was asked whether it declines.
    std::vector<CandidateChoice>& choices = plan_.choices[n] = std::move(noted_);
    noted_.clear();
    std::unique_ptr<Kernel> kernel =
        on_host != nullptr ? std::move(on_host) : way.type->make(*way.seen);
    if (choices.empty()) choices = std::move(noted_);
    choices.insert(choices.begin(), choice);
    if (way.converts())
      kernel = MakeWideKernel(way.layers->args, way.layers->unit.shape, std::move(kernel));
    plan_.kernels[n] = WithParamCopies(way.layers->args, std::move(kernel));
    plan_.kernel_types[n] = way.type;
    return *way.layers;
  }

  [[noreturn]] void ThrowNoKernel(int n, const KernelArgs& args,
                                  const std::string& declined) const {
    throw graph_.layer(n).Mistake("type", "no kernel computes this " + args.type + " layer in " +
                                              Name(args.dtype) + " on the " + args.device->kind() +
                                              (declined.empty() ? "" : " (" + declined + ")"));
  }

  static Layout At(const std::vector<Layout>& layouts, size_t i) {
    return i < layouts.size() ? layouts[i] : Layout();
  }

  void AddUnit(Unit unit) {
    const int n = unit.head();
    const KernelNeeds& needs = plan_.kernels[n]->needs();
    for (size_t i = 0; i < unit.params.size(); ++i) {
      const int store = StoreIndex(unit.params[i]);
      PlaceParam(n, store);
      if (layout_decided_[store]) {
        DOPPIO_CHECK(params_.params()[store].value.layout == At(needs.params, i),
                     "a kernel that reads a parameter in another layout than it has");
        continue;
      }
      params_.param(store).value.layout = At(needs.params, i);
      layout_decided_[store] = true;
    }
    if (draft_.options.gradients_consumed && !unit.params.empty())
      SetGradientSlice(needs.gradient_slice, &params_.param(StoreIndex(unit.params[0])));
    shapes_may_change_ = shapes_may_change_ || ChangerOf(plan_.kernels[n].get()) != nullptr;
    for (int member : unit.nodes) plan_.computed_with[member] = n;
    Item item;
    item.node = n;
    item.unit = static_cast<int>(draft_.units.size());
    item.place = draft_.PlaceOf(graph_.nodes[n]);
    item.backward = draft_.options.backward && unit.backward;
    item.bottom_gradient = unit.bottom_gradient;
    item.in_place_ok = unit.shape.in_place_ok;
    for (size_t i = 0; i < unit.bottoms.size(); ++i) {
      const Layout wanted = At(needs.bottoms, i);
      const int made = groups_.Move(GroupOf(unit.bottoms[i]), n);
      const DType dtype = needs.types.empty() ? group(made).spec.dtype : needs.types[i];
      const TensorSpec spec{edge(unit.bottoms[i]).shape, dtype, wanted};
      item.bottoms.push_back(groups_.Convert(made, spec, n));
      item.bottom_specs.push_back(spec);
    }
    for (size_t i = 0; i < unit.tops.size(); ++i) {
      const Edge& top = edge(unit.tops[i]);
      const TensorSpec spec{top.shape, StoredType(unit.tops[i]), At(needs.tops, i)};
      const int made = groups_.AddGroup(spec, item.place);
      group(made).edge = unit.tops[i];
      group(made).loss_weight = top.loss_weight;
      group(made).implicit_weight = top.implicit_weight;
      group(made).persistent = unit.shape.persistent_tops;
      group(made).pinned =
          top.loss_weight != 0 || unit.shape.persistent_tops || draft_.options.keep_all;
      draft_.edge_group[unit.tops[i]] = made;
      item.tops.push_back(made);
      item.top_specs.push_back(spec);
    }
    draft_.units.push_back(std::move(unit));
    groups_.AddItem(std::move(item));
  }

  // Devices that compute on the host share the memory of the store's device. The first micro-batch
  // decides for all.
  void PlaceParam(int n, int store) {
    if (draft_.options.microbatch > 0) return;
    const std::vector<Device*> devices = draft_.DevicesAt(draft_.PlaceOf(graph_.nodes[n]));
    Device* const device = devices[0];
    Param& param = params_.param(store);
    if (!param.placed()) {
      param.replicas.assign(devices.size() - 1, {});
      for (size_t i = 1; i < devices.size(); ++i) param.replicas[i - 1].device = devices[i];
      if (!device->properties.host_memory) params_.SetDevice(store, device);
      return;
    }
    if (device->properties.host_memory || param.device == device) return;
    throw graph_.layer(n).Mistake(
        "device", "is placed on " + device->name() + ", but the train net has its parameters on " +
                      param.device->name() + "; place it there in all nets");
  }

  // Gives the gradient of a new parameter memory for `elements` elements; 0: for all.
  static void SetGradientSlice(int64_t elements, Param* param) {
    if (elements > 0 && !param->placed()) param->grad_slice = elements;
    DOPPIO_CHECK(param->grad_slice == elements, "a gradient whose slices have changed");
  }

  // If a layer may change the shapes of its tops, the layers before it run again in another plan.
  // Sources cannot run again, so their tops are copied to that plan and must be kept.
  void KeepSources() {
    const bool may_change =
        std::any_of(plan_.kernels.begin(), plan_.kernels.end(),
                    [](const auto& kernel) { return ChangerOf(kernel.get()) != nullptr; });
    if (!may_change) return;
    for (const Item& item : draft_.items) {
      Kernel* kernel = plan_.kernels[item.node].get();
      if (item.reorder || !item.bottoms.empty() || ChangerOf(kernel) != nullptr) continue;
      for (int top : item.tops) group(top).pinned = true;
    }
  }

  // Shows the outputs of the layers in a stage.
  void ShowOutputs(int stage) {
    for (int output : graph_.outputs) {
      if (graph_.nodes[edge(output).producer].stage == stage) ShowOutput(output);
    }
  }

  // Users read outputs, so outputs are stored in the plain layout and in full precision, and are
  // kept until the iteration ends.
  void ShowOutput(int output) {
    const int made = GroupOf(output);
    const TensorSpec plain{edge(output).shape, draft_.options.dtype, Layout()};
    const int shown = groups_.Convert(made, plain, edge(output).producer);
    group(shown).pinned = true;
    draft_.edge_group[output] = shown;
  }

  Draft& draft_;
  const Graph& graph_;
  Plan& plan_;
  ParamStore& params_;
  GroupMaker groups_;
  const VaryingRows rows_;
  std::vector<bool> layout_decided_;
  std::vector<CandidateChoice> noted_;  // by the kernel that was asked or made last
  bool shapes_may_change_ = false;      // a layer so far may change shapes (ChangesTops)
};

}  // namespace

void ChooseKernels(Draft* draft, Plan* plan, ParamStore* params) {
  Chooser(draft, plan, params).Run();
}

}  // namespace doppio

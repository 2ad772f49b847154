// Makes a kernel for every layer, and inserts reorders between kernels that need different layouts.
#include "core/net/contract/changing_tops.h"
#include "core/net/graph/place_layers.h"
#include "core/net/graph/varying_rows.h"
#include "core/net/plan/param_copies.h"
#include "core/net/plan/plan_groups.h"
#include "core/net/plan/plan_params.h"

namespace doppio {
namespace {

class Chooser {
 public:
  Chooser(Draft* draft, Plan* plan, ParamStore* params)
      : draft_(*draft),
        graph_(*draft->graph),
        plan_(*plan),
        groups_(draft),
        params_(*draft, *plan, params),
        rows_(FindVaryingRows(graph_)) {}

  void Run() {
    const size_t nodes = graph_.nodes.size();
    plan_.kernels.resize(nodes);
    plan_.kernel_types.resize(nodes);
    plan_.choices.resize(nodes);
    for (size_t n = 0; n < nodes; ++n) plan_.computed_with.push_back(static_cast<int>(n));
    draft_.edge_group.assign(graph_.edges.size(), -1);
    int stage = 0;
    for (int n : RunningOrder(graph_)) {
      if (graph_.nodes[n].stage != stage) ShowOutputs(stage);
      stage = graph_.nodes[n].stage;
      if (plan_.computed_with[n] != n) continue;
      if (graph_.nodes[n].shape.view != View::kNone) {
        AddView(n);
      } else {
        AddLayers(n);
      }
    }
    ShowOutputs(stage);
    KeepSources();
    plan_.reorders = groups_.reorders();
    ConnectRows(rows_, plan_.kernels);
  }

 private:
  Group& group(int id) { return draft_.groups[id]; }
  int GroupOf(int edge) const { return draft_.edge_group[edge]; }
  const Edge& edge(int id) const { return graph_.edges[id]; }

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
    const Edge& bottom = edge(node.bottoms[0]);
    // Nothing but the top contributes to the gradient of the bottom, so both have the same one.
    const bool same = node.tops.size() == 1 && bottom.uses.size() == 1 && bottom.loss_weight == 0;
    // Without keep_all, nobody reads the gradient of a blob before it is complete.
    const bool shares = !draft_.options.keep_all || same;
    for (int top : node.tops) {
      const int shown = shares ? source : groups_.Alias(source, top, n);
      draft_.edge_group[top] = shown;
      group(shown).loss_weight += edge(top).loss_weight;
      if (edge(top).loss_weight != 0) group(shown).pinned = true;
    }
  }

  KernelArgs ArgsFor(const Unit& unit) {
    KernelArgs args;
    const LayerSpec& head = graph_.layer(unit.head());
    args.layer = head.name();
    args.type = head.type();
    args.at = head.At();
    args.train = head.phase() == TRAIN;
    args.seed = head.options.seed;
    args.top_shapes = unit.shape.tops;
    args.param_shapes = unit.param_shapes;
    args.dtype = draft_.options.dtype;
    args.device = draft_.devices[draft_.PlaceOf(graph_.nodes[unit.head()])];
    args.math = args.device->settings.math;
    args.engine_options = draft_.options.engine_options;
    args.backward = draft_.options.backward && unit.backward;
    args.bottom_gradient = unit.bottom_gradient;
    args.sync_statistics = draft_.options.sync_statistics;
    args.param_gradient = unit.param_gradient;
    for (int b : unit.bottoms)
      args.bottoms.push_back(
          {edge(b).shape, group(GroupOf(b)).spec.dtype, group(GroupOf(b)).spec.layout});
    for (int t : unit.tops) args.tops.push_back(StoredType(t));
    params_.Describe(unit, &args);
    if (shapes_may_change_) args.gradient_slice_bytes = 0;
    return args;
  }

  // Adds node `n` together with as many of the following layers as one kernel supports.
  void AddLayers(int n) {
    std::vector<int> nodes = {n};
    if (draft_.options.fusion && !draft_.options.keep_all) nodes = ChainFrom(graph_, n);
    std::vector<UnitCase> cases;
    for (; !nodes.empty(); nodes.pop_back()) {
      std::optional<Unit> unit = MakeUnit(graph_, nodes);
      if (!unit) continue;
      cases.push_back({ArgsFor(*unit), std::move(*unit)});
    }
    AddUnit(MakeUnitKernel(draft_, rows_.counted_by[n] >= 0, std::move(cases), &plan_));
  }

  void AddUnit(Unit unit) {
    const int n = unit.head();
    const KernelNeeds& needs = plan_.kernels[n]->needs();
    params_.Adopt(unit, needs);
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
      const int made = groups_.Move(GroupOf(unit.bottoms[i]), n);
      const DType dtype = needs.types.empty() ? group(made).spec.dtype : needs.types[i];
      const TensorSpec spec{edge(unit.bottoms[i]).shape, dtype, LayoutAt(needs.bottoms, i)};
      item.bottoms.push_back(groups_.Convert(made, spec, n));
      item.bottom_specs.push_back(spec);
    }
    for (size_t i = 0; i < unit.tops.size(); ++i) {
      const Edge& top = edge(unit.tops[i]);
      const TensorSpec spec{top.shape, StoredType(unit.tops[i]), LayoutAt(needs.tops, i)};
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

  // If a layer may change the shapes of its tops, the layers before it run again in another plan.
  // Sources cannot run again, so their tops are copied to that plan and must be kept.
  void KeepSources() {
    if (!shapes_may_change_) return;
    for (const Item& item : draft_.items) {
      Kernel* kernel = plan_.kernels[item.node].get();
      if (item.reorder || !item.bottoms.empty() || ChangerOf(kernel) != nullptr) continue;
      for (int top : item.tops) group(top).pinned = true;
    }
  }

  // Users read outputs, so the outputs of the layers in a stage are stored in the plain layout and
  // in full precision, and are kept until the iteration ends.
  void ShowOutputs(int stage) {
    std::vector<int> shown_edges = draft_.options.shown;
    shown_edges.insert(shown_edges.end(), graph_.outputs.begin(), graph_.outputs.end());
    for (int output : shown_edges) {
      const int maker = edge(output).producer;
      if (graph_.nodes[maker].stage != stage || GroupOf(output) < 0) continue;
      const TensorSpec plain{edge(output).shape, draft_.options.dtype, Layout()};
      int& shown = draft_.edge_group[output];
      shown = groups_.Convert(shown, plain, maker);
      group(shown).pinned = true;
    }
  }

  Draft& draft_;
  const Graph& graph_;
  Plan& plan_;
  GroupMaker groups_;
  ParamLayouts params_;
  const VaryingRows rows_;
  bool shapes_may_change_ = false;  // a layer so far may change shapes (ChangesTops)
};

}  // namespace

void ChooseKernels(Draft* draft, Plan* plan, ParamStore* params) {
  Chooser(draft, plan, params).Run();
}

}  // namespace doppio

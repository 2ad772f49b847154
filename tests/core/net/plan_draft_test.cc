// Tests each part of the plan by itself, on drafts that are written by hand.
#include "core/net/plan/plan_draft.h"

#include <gtest/gtest.h>

#include "core/net/plan/plan_params.h"
#include "core/net/plan/plan_tensors.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

const TensorSpec kFour{{4}, DType::kFloat32, Layout()};

// Adds an item with one top, of a unit of its own. Its bottoms are groups.
void AddItem(const std::vector<int>& bottoms, bool in_place_ok, Draft* draft) {
  Unit unit;
  unit.nodes = {static_cast<int>(draft->items.size())};
  draft->units.push_back(unit);
  Item item;
  item.node = item.unit = unit.head();
  item.bottoms = bottoms;
  item.bottom_specs.assign(bottoms.size(), kFour);
  item.tops = {unit.head()};
  item.top_specs = {kFour};
  item.in_place_ok = in_place_ok;
  item.backward = true;
  item.bottom_gradient.assign(bottoms.size(), true);
  for (int bottom : bottoms) draft->groups[bottom].readers.push_back(unit.head());
  Group top;
  top.spec = kFour;
  top.item = unit.head();
  draft->groups.push_back(top);
  draft->items.push_back(item);
}

// Returns a draft whose item 1 works in place on the top of item 0, if it may.
Draft Chain() {
  Draft draft;
  AddItem({}, false, &draft);
  AddItem({0}, true, &draft);
  draft.groups[1].loss_weight = 1;
  return draft;
}

void Schedule(Draft* draft) {
  const int items = static_cast<int>(draft->items.size());
  for (int t = 0; t < items; ++t) draft->events.push_back({Event::kForward, t});
  for (int t = items; t-- > 0;) {
    draft->items[t].backward_time = static_cast<int>(draft->events.size());
    draft->events.push_back({Event::kBackward, t});
  }
}

TEST(PlaceValues, LetsAnItemOverwriteAValueThatNothingElseReads) {
  Draft draft = Chain();
  for (Item& item : draft.items) item.reorder = true;
  Schedule(&draft);
  PlaceValues(&draft);
  EXPECT_EQ(draft.groups[1].storage, draft.groups[0].storage);
  ASSERT_EQ(draft.blocks.size(), 1u);
  EXPECT_EQ(draft.blocks[0].first, 0);
  EXPECT_EQ(draft.blocks[0].last, 1);
  EXPECT_EQ(draft.memory.unshared, 2 * PlacedBytes(16));
}

TEST(PlaceValues, KeepsAValueThatBackwardReads) {
  Draft draft = Chain();
  for (Item& item : draft.items) item.reorder = true;
  draft.groups[0].backward_readers = {1};
  Schedule(&draft);
  PlaceValues(&draft);
  ASSERT_EQ(draft.blocks.size(), 2u);
  EXPECT_EQ(draft.blocks[draft.groups[0].storage].last, draft.items[1].backward_time);
}

TEST(PlaceGradients, SharesTheBlockOfAGradientWithoutOtherReaders) {
  Draft draft = Chain();
  AddItem({1}, true, &draft);
  draft.groups[1].loss_weight = 0;
  draft.groups[2].loss_weight = 1;
  Schedule(&draft);
  PlaceGradients(&draft);
  EXPECT_TRUE(draft.groups[2].constant_grad);
  EXPECT_EQ(draft.items[2].top_grads, std::vector<int>{-2});
  EXPECT_EQ(draft.blocks.size(), 1u);
  EXPECT_EQ(draft.groups[0].grad_storage, draft.groups[1].grad_storage);
}

TEST(PlaceGradients, AddsTheContributionsOfTwoReaders) {
  Draft draft;
  AddItem({}, false, &draft);
  AddItem({0}, false, &draft);
  AddItem({0}, false, &draft);
  draft.groups[1].loss_weight = draft.groups[2].loss_weight = 1;
  Schedule(&draft);
  PlaceGradients(&draft);
  ASSERT_EQ(draft.blocks.size(), 2u);
  EXPECT_TRUE(draft.items[2].additions.empty());
  ASSERT_EQ(draft.items[1].additions.size(), 1u);
  EXPECT_EQ(draft.items[1].additions[0].from, draft.items[1].bottom_grads[0]);
  EXPECT_EQ(draft.items[1].additions[0].to, draft.groups[0].grad_storage);
}

TEST(OffloadSteps, CompleteTheCopyToTheHostBeforeTheyFetch) {
  // At time 9, the memory of block 0 becomes free and block 1 comes back.
  const OffloadSteps steps({{0, 5, 9, 20, 24}, {1, 1, 4, 8, 12}});
  ASSERT_EQ(steps.after.at(5).size(), 1u);
  EXPECT_EQ(steps.after.at(5)[0].kind, StepKind::kSave);
  ASSERT_EQ(steps.before.at(9).size(), 2u);
  EXPECT_EQ(steps.before.at(9)[0].kind, StepKind::kSaved);
  EXPECT_EQ(steps.before.at(9)[0].slot, 0);
  EXPECT_EQ(steps.before.at(9)[1].kind, StepKind::kFetch);
  EXPECT_EQ(steps.before.at(9)[1].slot, 1);
  EXPECT_EQ(steps.before.at(24)[0].kind, StepKind::kFetched);
}

TEST(MarkContributions, FindsTheFirstAndTheLastUserOfAParameter) {
  Draft draft = Chain();
  draft.units[0].params = {0, 1};
  draft.units[0].param_gradient = {true, false};
  draft.units[1].params = {0, 0};  // one layer may use a parameter twice
  draft.units[1].param_gradient = {true, true};
  Plan plan;
  plan.param_index = {7, 8};
  for (int node : {1, 0}) {
    plan.backward.emplace_back().node = node;
    plan.backward.emplace_back().kind = StepKind::kAdd;
  }
  plan.backward.emplace_back().again = true;
  MarkContributions(draft, &plan);
  EXPECT_EQ(plan.backward[0].first_use, (std::vector<bool>{true, false}));
  EXPECT_TRUE(plan.backward[0].ready.empty());
  EXPECT_EQ(plan.backward[2].first_use, (std::vector<bool>{false, false}));
  EXPECT_EQ(plan.backward[2].ready, std::vector<int>{7});
  for (int other : {1, 3, 4}) EXPECT_TRUE(plan.backward[other].first_use.empty());
}

TEST(DraftTensors, FindsTheConstantGradientOfATop) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  Draft draft = Chain();
  draft.devices = {device.get()};
  Schedule(&draft);
  PlaceGradients(&draft);
  PlaceConstantGradients(&draft);
  ASSERT_EQ(draft.constants, std::vector<int64_t>{PlacedBytes(16)});
  PlanBuffers buffers;
  buffers.arenas.emplace_back(device.get(), 1024);
  buffers.constants.emplace_back(device.get(), draft.constants[0]);
  draft.blocks[0].offset = 256;
  const DraftTensors tensors{draft, buffers};
  EXPECT_EQ(tensors.TopGradient(draft.items[1], 0).raw, buffers.constants[0].data());
  EXPECT_EQ(tensors.BottomGradient(draft.items[1], 0).raw,
            static_cast<char*>(buffers.arenas[0].data()) + 256);
  EXPECT_EQ(tensors.ConstantAt(0), nullptr);
  EXPECT_EQ(tensors.At(-1), nullptr);
}

const char kText[] = R"(
    layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 } } }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y'
            inner_product_param { num_output: 4 bias_term: false } })";

TEST(ParamLayouts, TakesTheLayoutOfTheFirstKernel) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  const Graph graph = GraphFromText(kText);
  Draft draft;
  draft.graph = &graph;
  draft.devices = {device.get()};
  ParamStore store(device.get(), DType::kFloat32, 1);
  Plan plan;
  plan.param_index = store.Resolve(graph);
  ParamLayouts layouts(draft, plan, &store);
  const Unit unit = *MakeUnit(graph, {1});
  KernelArgs first, second;
  layouts.Describe(unit, &first);
  EXPECT_EQ(first.param_placed, std::vector<bool>{false});
  KernelNeeds needs;
  needs.params = {Layout("blocked", 12, false)};
  layouts.Adopt(unit, needs);
  layouts.Describe(unit, &second);
  EXPECT_EQ(second.param_placed, std::vector<bool>{true});
  EXPECT_TRUE(second.param_layouts[0] == needs.params[0]);
}

TEST(MakeUnitKernel, LetsOnlyTheReferenceKernelReadAVaryingNumberOfRows) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  const Graph graph = GraphFromText(kText);
  Draft draft;
  draft.graph = &graph;
  draft.devices = {device.get()};
  for (const bool rows_vary : {false, true}) {
    UnitCase alone;
    alone.unit = *MakeUnit(graph, {1});
    alone.args.type = "InnerProduct";
    alone.args.device = device.get();
    alone.args.bottoms = {{Shape{2, 3}, DType::kFloat32, Layout()}};
    alone.args.tops = {DType::kFloat32};
    alone.args.top_shapes = alone.unit.shape.tops;
    alone.args.param_shapes = alone.unit.param_shapes;
    alone.args.param_layouts = {Layout()};
    alone.args.param_placed = alone.args.param_may_add = {false};
    alone.args.bottom_gradient = alone.args.param_gradient = {false};
    Plan plan;
    plan.kernels.resize(2);
    plan.kernel_types.resize(2);
    plan.choices.resize(2);
    EXPECT_EQ(MakeUnitKernel(draft, rows_vary, {alone}, &plan).head(), 1);
    ASSERT_NE(plan.kernel(1), nullptr);
    EXPECT_EQ(plan.kernel_types[1]->engine == "reference", rows_vary);
    EXPECT_EQ(plan.choices[1][0].what, "kernel");
  }
}

}  // namespace
}  // namespace doppio

// The rules of --place, and the graphs and plans of placed nets.
#include <gtest/gtest.h>

#include <random>

#include "core/net/contract/place_rule.h"
#include "core/net/graph/place_layers.h"
#include "core/net/plan/plan.h"
#include "core/net/run/device_team.h"
#include "core/net/spec/prototxt.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

TEST(PlaceRule, ReadsPatternsAndDevices) {
  const std::vector<PlaceRule> rules = ParsePlaceRules("conv*=gpu:0,fc6=cpu:12");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].pattern, "conv*");
  EXPECT_EQ(rules[0].place, "gpu:0");
  EXPECT_EQ(rules[1].place, "cpu:12");
  EXPECT_EQ(DevicesOfPlace("cpu:12"), (std::vector<std::string>{"cpu:12"}));
  EXPECT_EQ(DevicesOfPlace(ParsePlaceRules("c=gpu:1+gpu:0")[0].place),
            (std::vector<std::string>{"gpu:1", "gpu:0"}));
  EXPECT_EQ(ParseDeviceName("cpu:12")->index, 12);
  EXPECT_FALSE(ParseDeviceName("cpu:12")->gpu);
  for (const char* wrong : {"", "cpu", "gpu:", "gpu:-1", "tpu:0", "cpu:1024", "gpu:0x"})
    EXPECT_FALSE(ParseDeviceName(wrong)) << wrong;
}

TEST(PlaceRule, ExplainsMistakes) {
  const auto expect = [](const std::string& rules, const std::string& text) {
    const std::string mistake = Mistake<UsageError>([&] { ParsePlaceRules(rules); });
    EXPECT_NE(mistake.find(text), std::string::npos) << rules << ": " << mistake;
  };
  expect("conv1", "--place: 'conv1' is not PATTERN=DEVICE");
  expect("=gpu:0", "--place: '=gpu:0' is not PATTERN=DEVICE");
  expect("a=gpu:0,b=tpu:1", "--place: in 'b=tpu:1': 'tpu:1' is not a device; use cpu:N or gpu:N");
  expect("a=gpu:0+gpu",
         "--place: in 'a=gpu:0+gpu': 'gpu' is not a device; use cpu:N or gpu:N, such as gpu:0, or "
         "several, such as gpu:0+gpu:1");
  for (const char* wrong : {"a=+", "a=gpu:0+", "a=+gpu:0", "a=gpu:0++gpu:1"})
    expect(wrong, "'' is not a device");
  expect("a=gpu:0+gpu:1+gpu:0", "'gpu:0+gpu:1+gpu:0' names gpu:0 twice; name each device once");
}

TEST(PlaceRule, MatchesPatterns) {
  for (const char* pattern : {"conv1", "conv*", "*1", "c*v*", "con?1", "*", "**", "conv1*"})
    EXPECT_TRUE(MatchesPattern(pattern, "conv1")) << pattern;
  for (const char* pattern : {"", "conv", "onv1", "conv?1", "*2", "c*w*"})
    EXPECT_FALSE(MatchesPattern(pattern, "conv1")) << pattern;
  EXPECT_TRUE(MatchesPattern("*ab", "aab"));
  EXPECT_TRUE(MatchesPattern("", ""));
}

// Two branches after a shared layer. The fields of `b` and `loss` are replaced.
Graph BranchGraph(const std::string& place, const std::string& b = "",
                  const std::string& data = "") {
  const std::string text = R"(
    layer { name: "label" type: "DummyData" top: "t" dummy_data_param { shape { dim: 4 dim: 6 } } }
    layer { name: "data" type: "DummyData" top: "x" dummy_data_param { shape { dim: 4 dim: 5 } } )" +
                           data + R"( }
    layer { name: "a" type: "InnerProduct" bottom: "x" top: "a" inner_product_param { num_output: 6 } }
    layer { name: "b1" type: "InnerProduct" bottom: "a" top: "b1" inner_product_param { num_output: 6 } )" +
                           b + R"( }
    layer { name: "c1" type: "InnerProduct" bottom: "a" top: "c1" inner_product_param { num_output: 6 } }
    layer { name: "b2" type: "ReLU" bottom: "b1" top: "b1" }
    layer { name: "c2" type: "ReLU" bottom: "c1" top: "c1" }
    layer { name: "sum" type: "Eltwise" bottom: "b1" bottom: "c1" top: "sum" }
    layer { name: "loss" type: "EuclideanLoss" bottom: "sum" bottom: "t" top: "loss" })";
  NetParameter net;
  const FieldPlaces places = ParseText(text, "net.prototxt", &net);
  NetOptions options;
  options.place = ParsePlaceRules(place);
  return MakeGraph(MakeNetSpec(net, places, NetState(), options));
}

std::string PlaceMistake(const std::string& place, const std::string& b = "",
                         const std::string& data = "") {
  return Mistake([&] { BranchGraph(place, b, data); });
}

TEST(PlaceLayers, FollowsRulesThenFieldsThenTheLayerBefore) {
  const Graph graph = BranchGraph("c*=cpu:1", "device: 'cpu:2'");
  EXPECT_EQ(graph.places, (std::vector<std::string>{"cpu:1", "cpu:2"}));
  std::vector<int> places, stages;
  for (const Node& node : graph.nodes) {
    places.push_back(node.place);
    stages.push_back(node.stage);
  }
  // label, data, a (as the first placed layer, b1), b1, c1, b2 (as c1), c2, sum, loss
  EXPECT_EQ(graph.places[graph.nodes[2].place], "cpu:2");
  EXPECT_EQ(graph.places[graph.nodes[3].place], "cpu:2");
  EXPECT_EQ(graph.places[graph.nodes[5].place], "cpu:1");
  EXPECT_EQ(graph.nodes[0].place, graph.nodes[8].place);  // with its reader
  EXPECT_EQ(graph.nodes[1].place, graph.nodes[2].place);
  EXPECT_EQ(stages, (std::vector<int>{1, 0, 0, 0, 1, 1, 1, 1, 1}));
}

TEST(PlaceLayers, PutsInterleavedBranchesIntoFewStages) {
  const Graph graph = BranchGraph("c*=cpu:1,*=cpu:0");
  std::vector<int> stages;
  for (const Node& node : graph.nodes) stages.push_back(node.stage);
  EXPECT_EQ(stages, (std::vector<int>{2, 0, 0, 0, 1, 0, 1, 2, 2}));
  EXPECT_EQ(RunningOrder(graph), (std::vector<int>{1, 2, 3, 5, 4, 6, 0, 7, 8}));
}

TEST(PlaceLayers, LeavesNetsWithoutPlacementAlone) {
  const Graph graph = BranchGraph("");
  EXPECT_TRUE(graph.places.empty());
  EXPECT_EQ(RunningOrder(graph), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(PlaceLayers, ExplainsMistakes) {
  const auto expect = [](const std::string& mistake, const std::string& text) {
    EXPECT_NE(mistake.find(text), std::string::npos) << mistake;
  };
  expect(PlaceMistake("d*=cpu:1,a=cpu:0"),
         "layer 'data': a data layer cannot be placed on cpu:1, because its first reader 'a' is on "
         "cpu:0; leave it out, and it is placed there");
  expect(PlaceMistake("", "device: 'tpu:0'"), "layer 'b1': 'tpu:0' is not a device");
  expect(PlaceMistake("a=cpu:0,z=cpu:1"), "--place: the pattern 'z' matches no layer of the net");
  expect(PlaceMistake("a=cpu:0,b1=gpu:1"), "place them on devices of one kind");
  expect(PlaceMistake("a=cpu:0+gpu:1,b1=cpu:0"),
         "the layers are placed on cpu:0 and on gpu:1; place them on devices of one kind");
  expect(PlaceMistake("", "device: 'cpu:0+tpu:0'"), "layer 'b1': 'tpu:0' is not a device");
  expect(PlaceMistake("", "device: 'cpu:0+cpu:0'"), "layer 'b1': 'cpu:0+cpu:0' names cpu:0 twice");
  expect(PlaceMistake("data=cpu:1,a=cpu:0+cpu:1"),
         "a data layer cannot be placed on cpu:1, because its first reader 'a' is on cpu:0+cpu:1");
}

TEST(PlaceLayers, ReplicatesLayersAsOnePlace) {
  const Graph graph = BranchGraph("c*=cpu:1,*=cpu:0+cpu:1");
  EXPECT_EQ(graph.places, (std::vector<std::string>{"cpu:0+cpu:1", "cpu:1"}));
  EXPECT_EQ(PlacedDeviceNames(graph), (std::vector<std::string>{"cpu:0", "cpu:1"}));
  EXPECT_EQ(LayersAt(graph, 1), 2);
}

TEST(PlacedPlan, MovesEachBlobOnceInEachDirection) {
  const Graph graph = BranchGraph("c*=cpu:1,*=cpu:0");
  const std::unique_ptr<Device> all = MakeCpuDevice();
  const std::unique_ptr<Device> halves[] = {MakeCpuPart({0, 2}, "cpu:0"),
                                            MakeCpuPart({1, 2}, "cpu:1")};
  PlanOptions options;
  options.device = all.get();
  options.places = {{"cpu:0", halves[0].get()}, {"cpu:1", halves[1].get()}};
  options.backward = true;
  ParamStore params(all.get(), DType::kFloat32, 1);
  const std::unique_ptr<Plan> plan = MakePlan(graph, options, &params);
  ASSERT_EQ(plan->devices.size(), 2u);
  std::vector<std::string> moves;
  const auto add = [&](const std::vector<PlanStep>& steps) {
    for (const PlanStep& step : steps) {
      if (step.kind != StepKind::kMove) continue;
      moves.push_back(graph.edges[step.edge].name + " " + graph.places[step.peer] +
                      (step.backward ? " <- " : " -> ") + graph.places[step.place] + " " +
                      std::to_string(step.from.bytes()));
    }
  };
  add(plan->forward);
  EXPECT_EQ(moves, (std::vector<std::string>{"a cpu:0 -> cpu:1 96", "c1 cpu:1 -> cpu:0 96"}));
  moves.clear();
  add(plan->backward);
  EXPECT_EQ(moves, (std::vector<std::string>{"c1 cpu:1 <- cpu:0 96", "a cpu:0 <- cpu:1 96"}));
  EXPECT_GT(plan->device_bytes[0], 0);
  EXPECT_GT(plan->device_bytes[1], 0);
}

std::string OrderOf(const TaskOrder& order, int device) {
  std::string text;
  for (const TaskOrder::Task& t : order.OfDevice(device))
    text += (text.empty() ? "" : " ") + std::to_string(t.task) + "/" + std::to_string(t.part);
  return text;
}

TEST(TaskOrder, RunsPartsOneBehindTheOther) {
  const TaskOrder order({{0}, {1}, {0}}, 2, 3);
  EXPECT_EQ(OrderOf(order, 0), "0/0 0/1 2/0 0/2 2/1 2/2");
  EXPECT_EQ(OrderOf(order, 1), "1/0 1/1 1/2");
}

TEST(TaskOrder, SharesThePartsOfATask) {
  // Task 0 runs on both devices, and task 1 on the second.
  const TaskOrder order({{0, 1}, {1}}, 2, 4);
  EXPECT_EQ(OrderOf(order, 0), "0/0 0/2");
  EXPECT_EQ(OrderOf(order, 1), "0/1 1/0 0/3 1/1 1/2 1/3");
}

TEST(DeviceTeam, NeverBlocks) {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Device*> team_devices;
  for (int i = 0; i < 3; ++i) {
    devices.push_back(MakeCpuPart({i, 3}, "cpu:" + std::to_string(i)));
    team_devices.push_back(devices.back().get());
  }
  DeviceTeam team(team_devices);
  const std::vector<std::vector<int>> places = {{0}, {1}, {2}, {0, 1}, {1, 0}, {2, 1}, {2, 0, 1}};
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<int>> runs(1 + random() % 6);
    for (std::vector<int>& run : runs) run = places[random() % places.size()];
    const int tasks = static_cast<int>(runs.size()), parts = 1 + static_cast<int>(random() % 7);
    const TaskOrder order(runs, 3, parts);
    std::vector<int> done(parts, 0);  // each part is only touched by one thread at a time
    std::vector<std::vector<int>> last(tasks, std::vector<int>(3, -1));
    team.Run(order, [&](int task, int part) {
      EXPECT_EQ(done[part]++, task);
      const int device = runs[task][part % runs[task].size()];
      EXPECT_LT(last[task][device], part) << "each device takes the parts of a task in their order";
      last[task][device] = part;
    });
    EXPECT_EQ(done, std::vector<int>(parts, tasks));
  }
}

TEST(DeviceTeam, RunsTasksInOrderAndRethrows) {
  const std::unique_ptr<Device> devices[] = {MakeCpuPart({0, 2}, "cpu:0"),
                                             MakeCpuPart({1, 2}, "cpu:1")};
  DeviceTeam team({devices[0].get(), devices[1].get()});
  const TaskOrder order({{0}, {1}}, 2, 4);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> done(4, 0);  // each part is only touched by one thread at a time
    team.Run(order, [&](int task, int part) {
      EXPECT_EQ(done[part], task);
      ++done[part];
    });
    EXPECT_EQ(done, (std::vector<int>{2, 2, 2, 2}));
    EXPECT_THROW(team.Run(order,
                          [](int task, int part) {
                            if (task == 1 && part == 1) throw UsageError("no");
                          }),
                 UsageError);
  }
}

}  // namespace
}  // namespace doppio

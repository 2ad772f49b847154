#include "tests/random/shrink.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/net/graph/graph.h"
#include "core/net/spec/prototxt.h"
#include "tests/random/smaller.h"

namespace doppio {
namespace {

NetParameter NetOf(const std::string& text) {
  NetParameter net;
  ParseText(text, "net", &net);
  return net;
}

constexpr char kNet[] = R"(
  name: "net"
  layer { name: "data" type: "DummyData" top: "data" top: "label"
          dummy_data_param { shape { dim: 8 dim: 6 dim: 9 dim: 9 } shape { dim: 8 }
                             data_filler { type: "gaussian" std: 1 } data_filler { value: 1 } } }
  layer { name: "more" type: "DummyData" top: "more"
          dummy_data_param { shape { dim: 8 dim: 4 } data_filler { value: 1 } } }
  layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
          convolution_param { num_output: 6 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" relu_param { negative_slope: 0.1 } }
  layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool"
          pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
  layer { name: "tanh" type: "TanH" bottom: "pool" top: "tanh" }
  layer { name: "fc" type: "InnerProduct" bottom: "tanh" top: "fc"
          param { name: "w" } inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
  layer { name: "fc2" type: "InnerProduct" bottom: "more" top: "fc2"
          inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
  layer { name: "sum" type: "Reduction" bottom: "fc2" top: "sum" loss_weight: 0.5 }
)";

RandomCase Case() {
  RandomCase random_case;
  random_case.net = NetOf(kNet);
  ParseText(R"(type: "Adam" base_lr: 0.01 lr_policy: "step" gamma: 0.5 stepsize: 2 momentum: 0.9
               max_iter: 7 clip_gradients: 3 weight_decay: 0.1)",
            "solver", &random_case.solver);
  return random_case;
}

// Returns the net's graph, or nothing if the program refuses the net.
std::optional<Graph> GraphOf(const NetParameter& net) {
  try {
    NetState state;
    state.set_phase(TRAIN);
    return MakeGraph(MakeNetSpec(net, FieldPlaces(), state, NetOptions()));
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string NamesOf(const NetParameter& net) {
  std::string names;
  for (const LayerParameter& layer : net.layer()) names += layer.name() + " ";
  return names;
}

TEST(Smaller, LeavesOutLayersAndConnectsTheRest) {
  const NetParameter net = WithoutLayers(NetOf(kNet), 2, 5);  // conv, relu, pool
  EXPECT_EQ(NamesOf(net), "data more tanh fc loss fc2 sum ");
  EXPECT_EQ(net.layer(2).bottom(0), "data");
  EXPECT_TRUE(GraphOf(net).has_value());
  const NetParameter in_place = WithoutLayers(NetOf(kNet), 2, 3);
  EXPECT_EQ(in_place.layer(2).bottom(0), "data");
  EXPECT_EQ(in_place.layer(2).top(0), "data");
  EXPECT_EQ(in_place.layer(3).bottom(0), "data");
}

TEST(Smaller, LeavesOutBranches) {
  EXPECT_EQ(NamesOf(WithoutBranch(NetOf(kNet), 8, 9)), "data conv relu pool tanh fc loss ");
  EXPECT_EQ(NamesOf(WithoutBranch(NetOf(kNet), 2, 3)), "more fc2 sum ");
}

TEST(Smaller, RemovesFieldsOneByOne) {
  NetParameter net = NetOf(
      "name: 'n' layer { name: 'l' type: 'ReLU' param { lr_mult: 2 } param { } "
      "relu_param { negative_slope: 1 } }");
  int fields = 0;
  std::set<std::string> seen;
  for (NetParameter copy = net; RemoveField(fields, &copy); copy = net, ++fields)
    seen.insert(copy.ShortDebugString());
  EXPECT_EQ(fields, 6);  // name, param, its lr_mult, param, relu_param, its negative_slope
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_EQ(seen.count("name: \"n\" layer { name: \"l\" type: \"ReLU\" param { } param { } "
                       "relu_param { negative_slope: 1 } }"),
            1u);
}

TEST(Smaller, LowersExtentsAndThoseInNamesOfFiles) {
  NetParameter net = NetOf(
      "layer { name: 'l' type: 'Data' data_param { batch_size: 8 source: "
      "'data/lmdb_20x3x9x7_5_0' } }");
  std::set<std::string> sources;
  int numbers = 0;
  bool changed = false;
  for (NetParameter copy = net; LowerExtent(numbers, 0, &copy, &changed); copy = net, ++numbers) {
    EXPECT_TRUE(changed);
    sources.insert(copy.layer(0).data_param().source());
  }
  EXPECT_EQ(numbers, 6);
  EXPECT_EQ(sources, (std::set<std::string>{"data/lmdb_20x3x9x7_5_0", "data/lmdb_1x3x9x7_5_0",
                                            "data/lmdb_20x1x9x7_5_0", "data/lmdb_20x3x1x7_5_0",
                                            "data/lmdb_20x3x9x1_5_0", "data/lmdb_20x3x9x7_1_0"}));
  EXPECT_EQ(SmallerExtents(9), (std::vector<int64_t>{1, 2, 4, 8}));
  EXPECT_EQ(SmallerExtents(2), (std::vector<int64_t>{1}));
}

// A fault of MAX pooling with an overlap, in nets that have a loss.
bool HasOverlappingPooling(const RandomCase& random_case) {
  const std::optional<Graph> graph = GraphOf(random_case.net);
  if (!graph) return false;
  bool pooling = false, loss = false;
  for (size_t n = 0; n < graph->nodes.size(); ++n) {
    const LayerParameter& layer = graph->spec.layers[n].param;
    const PoolingParameter& param = layer.pooling_param();
    pooling |= layer.type() == "Pooling" && param.kernel_size() > param.stride();
  }
  for (const Edge& edge : graph->edges) loss |= edge.loss_weight != 0;
  return pooling && loss && random_case.solver.max_iter() >= 2;
}

TEST(Shrink, FindsTheSmallestCaseThatFails) {
  const RandomCase smallest = Shrink(Case(), &HasOverlappingPooling, {2000, 60});
  EXPECT_TRUE(HasOverlappingPooling(smallest));
  EXPECT_EQ(smallest.solver.max_iter(), 2);
  EXPECT_FALSE(smallest.solver.has_clip_gradients());
  EXPECT_FALSE(smallest.solver.has_momentum());
  EXPECT_LE(smallest.net.layer_size(), 4) << CaseText(smallest);
  EXPECT_FALSE(smallest.net.has_name());
  EXPECT_LE(smallest.net.layer(0).dummy_data_param().shape(0).dim(2), 3) << CaseText(smallest);
  EXPECT_EQ(smallest.net.layer(0).dummy_data_param().shape(0).dim(1), 1) << CaseText(smallest);
}

TEST(Shrink, StopsAtItsLimit) {
  int tries = 0;
  const RandomCase same = Shrink(Case(),
                                 [&](const RandomCase&) {
                                   ++tries;
                                   return false;
                                 },
                                 {10, 60});
  EXPECT_EQ(tries, 10);
  EXPECT_EQ(NamesOf(same.net), NamesOf(Case().net));
}

}  // namespace
}  // namespace doppio

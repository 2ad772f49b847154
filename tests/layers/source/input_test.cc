// Tests Input and DummyData, which have tops but no bottoms.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/net/run/net.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/test_layers.h"

namespace doppio {
namespace {

LayerCase Source(const std::string& layer, int tops = 1) {
  LayerCase c(layer);
  c.Tops(tops).NoGradient();
  return c;
}

TEST_ON_DEVICES(Input, StartsWithZeros) {
  LayerCase c = Source("type: 'Input' input_param { shape { dim: 1 dim: 3 } }");
  c.ExpectTop({1, 3}, {0, 0, 0}).ExpectBackendsAgree();
  c.ExpectGpuKernel();
}

TEST(Input, HasOneShapeForAllTopsOrOneEach) {
  Source("type: 'Input' input_param { shape { dim: 2 } }", 2)
      .ExpectTopShape({2}, 0)
      .ExpectTopShape({2}, 1);
  Source("type: 'Input' input_param { shape { dim: 2 } shape { dim: 3 dim: 1 } }", 2)
      .ExpectTopShape({2}, 0)
      .ExpectTopShape({3, 1}, 1);
}

TEST(Input, ExplainsMistakes) {
  Source("type: 'Input'").ExpectMistake({"has no shape", "input_param { shape { dim: ... } }"});
  Source("type: 'Input' input_param { shape { dim: 0 } }").ExpectMistake({"dim 0", "at least 1"});
  Source("type: 'Input' input_param { shape { dim: -1 } }").ExpectMistake({"dim -1"});
  Source("type: 'Input' input_param { shape { dim: 1 } shape { dim: 2 } }", 3)
      .ExpectMistake({"shape is given 2 times for 3 top(s)"});
}

TEST_ON_DEVICES(DummyData, FillsItsTops) {
  Source("type: 'DummyData' dummy_data_param { shape { dim: 2 } data_filler { value: 3 } }")
      .ExpectTop({2}, {3, 3});
  Source("type: 'DummyData' dummy_data_param { shape { dim: 2 } }").ExpectTop({2}, {0, 0});
  Source(
      "type: 'DummyData' dummy_data_param { shape { dim: 1 } shape { dim: 2 } data_filler { value: "
      "3 }"
      " data_filler { value: 4 } }",
      2)
      .ExpectTop({1}, {3})
      .ExpectTop({2}, {4, 4}, 1e-5, 1)
      .ExpectBackendsAgree();
}

TEST(DummyData, KnowsTheOldShape) {
  Source(
      "type: 'DummyData' dummy_data_param { num: 3 channels: 1 height: 2 width: 1 data_filler { "
      "value: 1 } }")
      .ExpectTop({3, 1, 2, 1}, {1, 1, 1, 1, 1, 1});
  Source("type: 'DummyData' dummy_data_param { num: 3 num: 1 channels: 1 height: 2 width: 1 }", 2)
      .ExpectTopShape({3, 1, 2, 1}, 0)
      .ExpectTopShape({1, 1, 2, 1}, 1);
}

TEST(DummyData, DrawsDifferentlyInEachPassButKeepsConstants) {
  const std::string layer =
      "type: 'DummyData' dummy_data_param { shape { dim: 1000 } data_filler { type: 'uniform' min: "
      "2 max: 4 }"
      " data_filler { value: 5 } }";
  const std::vector<double> first = Source(layer, 2).Top(0);
  EXPECT_EQ(Source(layer, 2).Top(0), first);
  EXPECT_NE(Source(layer, 2).Passes(2).Top(0), first);
  EXPECT_EQ(Source(layer, 2).Passes(2).Top(1), std::vector<double>(1000, 5));
  double mean = 0;
  for (double x : first) {
    ASSERT_GE(x, 2);
    ASSERT_LE(x, 4);
    mean += x / 1000;
  }
  // Five standard deviations of the mean of 1000 draws.
  EXPECT_NEAR(mean, 3, 5 * 0.0183);
}

// Two ranks draw the same rows as one rank with a batch twice as large.
TEST(DummyData, DrawsTheRowsOfOneBigBatchOnSeveralRanks) {
  const std::unique_ptr<Device> cpu = MakeCpuDevice();
  const auto draw = [&](const std::string& filler, int batch, int rank, int ranks, uint64_t step) {
    PlanOptions options;
    options.device = cpu.get();
    ParamStore store(cpu.get(), DType::kFloat32, 1);
    Net net(
        GraphFromText("layer { name: 'in' type: 'DummyData' top: 'x' dummy_data_param { shape { "
                      "dim: " +
                      std::to_string(batch) + " dim: 3 } data_filler { " + filler + " } } }"),
        options, &store);
    net.pass().rank = rank;
    net.pass().ranks = ranks;
    net.pass().step = step;
    net.Forward();
    return ReadPlain(net.Blob("x"), cpu.get());
  };
  // All but the first depend on the number of rows.
  for (const char* filler :
       {"type: 'gaussian'", "type: 'gaussian' sparse: 1", "type: 'xavier' variance_norm: FAN_OUT",
        "type: 'msra' variance_norm: AVERAGE"}) {
    SCOPED_TRACE(filler);
    const std::vector<double> big = draw(filler, 4, 0, 1, 1);
    EXPECT_EQ(draw(filler, 2, 0, 2, 1), std::vector<double>(big.begin(), big.begin() + 6));
    EXPECT_EQ(draw(filler, 2, 1, 2, 1), std::vector<double>(big.begin() + 6, big.end()));
  }
}

// The second pass overwrites the random top in the GPU's memory, but not the constant one.
TEST_ON_GPU(DummyData, IsSentToAGpuOnceWhereItIsConstant) {
  const std::unique_ptr<Device> gpu = TestGpu();
  const std::string text =
      "layer { name: 'in' type: 'DummyData' top: 'constant' top: 'random' dummy_data_param { shape "
      "{ dim: 3 } "
      "data_filler { value: 5 } data_filler { type: 'uniform' } } }";
  const auto run = [&](Device* device, const std::function<void(Net*)>& between) {
    PlanOptions options;
    options.device = device;
    ParamStore store(device, DType::kFloat32, 1);
    Net net(GraphFromText(text), options, &store);
    net.Forward();
    between(&net);
    net.Forward();
    std::vector<std::vector<double>> tops;
    for (const char* top : {"constant", "random"}) tops.push_back(ReadPlain(net.Blob(top), device));
    return tops;
  };
  const std::unique_ptr<Device> cpu = MakeCpuDevice();
  const auto want = run(cpu.get(), [](Net*) {});
  EXPECT_EQ(want[0], std::vector<double>(3, 5));
  EXPECT_EQ(run(gpu.get(), [](Net*) {}), want);
  const std::vector<double> other(3, 7);
  const auto got = run(gpu.get(), [&](Net* net) {
    EXPECT_EQ(net->plan().kernel_types[0]->engine, "cuda");
    for (const char* top : {"constant", "random"}) WritePlain(other, net->Blob(top), gpu.get());
  });
  EXPECT_EQ(got[0], other);
  EXPECT_EQ(got[1], want[1]);
}

TEST(DummyData, ExplainsMistakes) {
  auto dummy = [](const std::string& param) {
    return Source("type: 'DummyData' dummy_data_param { " + param + " }", 2);
  };
  dummy("").ExpectMistake({"has no shape"});
  dummy("shape { dim: 1 } num: 1").ExpectMistake({"keep shape"});
  dummy("shape { dim: 1 } shape { dim: 1 } shape { dim: 1 }")
      .ExpectMistake({"shape is given 3 times for 2 top(s)"});
  dummy("shape { dim: 0 }").ExpectMistake({"dim 0", "at least 1"});
  dummy("num: 1 channels: 1 height: 1").ExpectMistake({"width is given 0 times for 2 top(s)"});
  dummy("num: 1 channels: 1 width: 1").ExpectMistake({"height is given 0 times"});
  dummy("num: 1 width: 1 height: 1").ExpectMistake({"channels is given 0 times"});
  dummy("width: 1 channels: 1 height: 1").ExpectMistake({"num is given 0 times"});
  dummy("num: 0 channels: 1 height: 1 width: 1").ExpectMistake({"dim 0"});
  dummy("shape { dim: 1 } data_filler { } data_filler { } data_filler { }")
      .ExpectMistake({"data_filler is given 3 times"});
  dummy("shape { dim: 1 } data_filler { type: 'gausian' }")
      .ExpectMistake({"layer 'layer'", "gausian"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include <cmath>

#include "tests/testing/layer_case.h"
#include "tests/testing/mistake.h"
#include "tests/testing/test_layers.h"

namespace doppio {
namespace {

LayerCase Embedded(const std::string& param) {
  return LayerCase("type: 'Embed' embed_param { " + param + " }");
}

TEST(Embed, PicksRowsAndAddsTheBias) {
  Embedded("num_output: 2 input_dim: 3")
      .Bottom({2, 2}, {2, 0, 2.9, 1})
      .Param(0, {1, 2, 3, 4, 5, 6})
      .Param(1, {10, 20})
      .ExpectTop({2, 2, 2}, {15, 26, 11, 22, 15, 26, 13, 24});
  Embedded("num_output: 2 input_dim: 3 bias_term: false")
      .Bottom({1}, {1})
      .Param(0, {1, 2, 3, 4, 5, 6})
      .ExpectTop({1, 2}, {3, 4});
}

TEST_ON_DEVICES(Embed, AgreesWithDifferencesAndAddsUpRepeatedRows) {
  for (const char* bias : {"true", "false"}) {
    LayerCase c = Embedded("num_output: 5 input_dim: 4 bias_term: " + std::string(bias));
    c.LabelBottom({3, 7}, 4).ExpectGradient().ExpectBackendsAgree();
    c.ExpectGpuKernel();
  }
}

TEST_ON_DEVICES(Embed, GivesUnusedRowsNoGradient) {
  // Five labels name at most 5 of the 40 rows.
  LayerCase c = Embedded("num_output: 3 input_dim: 40");
  c.LabelBottom({5}, 40).ExpectGradient().ExpectBackendsAgree();
}

TEST(Embed, ExplainsMistakes) {
  Embedded("input_dim: 3").Bottom({1}, {0}).ExpectMistake({"num_output must be positive, found 0"});
  Embedded("num_output: 3").Bottom({1}, {0}).ExpectMistake({"input_dim must be positive, found 0"});
  for (const double wrong : {3.0, -1.0}) {
    Embedded("num_output: 2 input_dim: 3")
        .Bottom({2}, {0, wrong})
        .ExpectMistake({"at position 1 is outside 0..2", "input_dim"});
  }
}

LayerCase Reindexed(const std::vector<double>& indices) {
  LayerCase c("type: 'BatchReindex'");
  c.Bottom({3, 2}, {1, 2, 3, 4, 5, 6}).Bottom({static_cast<int64_t>(indices.size())}, indices);
  return c;
}

TEST(BatchReindex, PicksAndRepeatsRows) {
  Reindexed({2, 0, 2, 2})
      .ExpectTop({4, 2}, {5, 6, 1, 2, 5, 6, 5, 6})
      .ExpectBottomGradient({1, 2, 3, 4, 5, 6, 7, 8}, {3, 4, 0, 0, 13, 16});
}

TEST_ON_DEVICES(BatchReindex, AgreesWithDifferencesAndInEveryLayout) {
  LayerCase c("type: 'BatchReindex'");
  c.RandomBottom({5, 3, 2, 2}).LabelBottom({7}, 5).ExpectGradient().ExpectBackendsAgree();
  c.ExpectGpuKernel();
}

TEST(BatchReindex, ExplainsMistakes) {
  Reindexed({0, 3}).ExpectMistake({"index 3 at position 1 is outside 0..2"});
  Reindexed({-1}).ExpectMistake({"index -1 at position 0"});
  LayerCase("type: 'BatchReindex'")
      .RandomBottom({3, 2})
      .RandomBottom({2, 1})
      .ExpectMistake({"2x1", "one axis"});
}

TEST_ON_GPU(RowIndices, AreNamedWhenAGpuHasMetAWrongOne) {
  const std::unique_ptr<Device> gpu = TestGpu();
  for (const char* layer :
       {"type: 'BatchReindex' bottom: 'x' bottom: 'index' propagate_down: [true, false]",
        "type: 'Embed' bottom: 'index' propagate_down: false embed_param { num_output: 2 "
        "input_dim: 3 }"}) {
    PlanOptions options;
    options.device = gpu.get();
    ParamStore store(gpu.get(), DType::kFloat32, 5);
    Net net(
        GraphFromText("layer { name: 'in' type: 'TestSource' top: 'x' top: 'index' input_param {"
                      "  shape { dim: 3 dim: 2 } shape { dim: 2 } } }"
                      "layer { name: 'layer' top: 'y' " +
                      std::string(layer) +
                      " }"
                      "layer { name: 'probe' type: 'TestProbe' bottom: 'y' top: 'probe' }"),
        options, &store);
    TestSource& source = dynamic_cast<TestSource&>(*InnermostKernel(net.plan().kernel(0)));
    const std::vector<double> rows(6, 0.5);
    source.values = {rows, {2, 3}};
    EXPECT_TRUE(std::isnan(net.Forward())) << layer;
    gpu->Synchronize();
    source.values = {rows, {2, 0}};
    const Error e = Thrown([&] { net.Forward(); });
    EXPECT_EQ(e.code(), ExitCode::kConfig) << layer;
    EXPECT_NE(e.message().find("index 3 at position 1 is outside 0..2"), std::string::npos)
        << e.what();
    EXPECT_FALSE(std::isnan(net.Forward())) << layer;
  }
}

}  // namespace
}  // namespace doppio

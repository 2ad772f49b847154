#include "core/net/graph/row_losses.h"

#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

std::string LayerText(const std::string& type, const std::string& bottoms, const std::string& top,
                      const std::string& more) {
  return "layer { name: '" + top + "' type: '" + type + "' " + bottoms + " top: '" + top + "' " +
         more + " }\n";
}

float WeightOf(const Graph& graph, const std::string& blob) {
  return graph.edges[static_cast<size_t>(graph.FindEdge(blob))].loss_weight;
}

TEST(RowLosses, CountForEachRank) {
  Graph graph = GraphFromText(
      "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y'\n"
      "  input_param { shape { dim: 4 dim: 3 } shape { dim: 4 } } }\n" +
      LayerText("InnerProduct", "bottom: 'x'", "ip", "inner_product_param { num_output: 5 }") +
      LayerText("Reduction", "bottom: 'ip'", "rows",
                "reduction_param { axis: 1 } loss_weight: 0.5") +
      LayerText("Power", "bottom: 'ip'", "power", "power_param { scale: 2 } loss_weight: 0.25") +
      LayerText("Reduction", "bottom: 'ip'", "sum", "loss_weight: 3") +
      LayerText("SoftmaxWithLoss", "bottom: 'ip' bottom: 'y'", "loss", "") +
      LayerText("Parameter", "", "own", "parameter_param { shape { dim: 4 } }") +
      LayerText("AbsVal", "bottom: 'own'", "size", "loss_weight: 7"));
  WeighRowLosses(1, &graph);
  EXPECT_EQ(WeightOf(graph, "rows"), 0.5f);
  WeighRowLosses(3, &graph);
  EXPECT_EQ(WeightOf(graph, "rows"), 1.5f);
  EXPECT_EQ(WeightOf(graph, "power"), 0.75f);
  EXPECT_EQ(WeightOf(graph, "sum"), 3) << "the layer sums over all ranks";
  EXPECT_EQ(WeightOf(graph, "loss"), 1);
  EXPECT_EQ(WeightOf(graph, "size"), 7) << "a parameter is the same on all ranks";
}

TEST(RowLosses, CountWhereABatchIsOneSample) {
  Graph graph = GraphFromText(
      "layer { name: 'in' type: 'TestInput' top: 'x' input_param { shape { dim: 1 dim: 3 } } }\n" +
      LayerText("Reduction", "bottom: 'x'", "rows",
                "reduction_param { axis: 1 } loss_weight: 0.5") +
      LayerText("Reduction", "bottom: 'x'", "sum", "loss_weight: 3") +
      LayerText("Power", "bottom: 'sum'", "power", "loss_weight: 2"));
  WeighRowLosses(3, &graph);
  EXPECT_EQ(WeightOf(graph, "rows"), 1.5f);
  EXPECT_EQ(WeightOf(graph, "sum"), 3);
  EXPECT_EQ(WeightOf(graph, "power"), 2);
}

}  // namespace
}  // namespace doppio

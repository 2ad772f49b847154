// Tests the warnings about nets of trainings that learn nothing or test otherwise than is meant.
#include <gtest/gtest.h>

#include "solvers/trainer/empty_statistics.h"
#include "solvers/trainer/nothing_learned.h"

namespace doppio {
namespace {

// Returns the graph of a net with the blobs a and b.
Graph GraphOf(const std::string& layers, Phase phase = TRAIN) {
  NetParameter net;
  const FieldPlaces places = ParseText(
      "layer { name: 'in' type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 2 dim: 3 } } "
      "}\n" +
          layers,
      "net.prototxt", &net);
  NetOptions options;
  options.phase = phase;
  NetState state;
  state.set_phase(phase);
  return MakeGraph(MakeNetSpec(net, places, state, options));
}

constexpr char kLoss[] = "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'a' bottom: 'b' }\n";

TEST(NothingLearned, SaysWhy) {
  const std::string loss = kLoss, ip = "layer { name: 'ip' type: 'InnerProduct' ",
                    outputs = " inner_product_param { num_output: 3 } ",
                    in_place = ip + "bottom: 'a' top: 'a'" + outputs + " ";
  const auto why = [](const std::string& layers) {
    const std::vector<Warning> warnings = NothingLearned(GraphOf(layers));
    EXPECT_LE(warnings.size(), 1u) << layers;
    return warnings.empty() ? "" : warnings[0].message;
  };
  EXPECT_EQ(why(in_place + "}" + loss), "");
  EXPECT_EQ(why(loss), "nothing is learned: the net has no parameters");
  EXPECT_EQ(why("layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'c' }"),
            "nothing is learned: the net has no parameters");
  EXPECT_NE(why(in_place + "}").find("the net has no loss"), std::string::npos);
  EXPECT_NE(why(in_place + "} layer { name: 'loss' type: 'EuclideanLoss' bottom: 'a' bottom: 'b' "
                           "loss_weight: 0 }")
                .find("every loss of the net has loss_weight: 0"),
            std::string::npos);
  const std::string frozen = "param { lr_mult: 0 } param { lr_mult: 0 } }";
  const std::string every = "nothing is learned: every parameter of the net has lr_mult: 0";
  EXPECT_EQ(why(in_place + frozen + loss).substr(0, every.size()), every);
  EXPECT_EQ(why("layer { name: 'bn' type: 'BatchNorm' bottom: 'a' top: 'a' }" + loss)
                .substr(0, every.size()),
            every);
  EXPECT_EQ(why("force_backward: true " + in_place + frozen + loss).substr(0, every.size()), every);
  const std::string cut = "no gradient of a loss reaches a parameter that learns";
  EXPECT_NE(why(in_place + "} layer { name: 'loss' type: 'EuclideanLoss' bottom: 'a' bottom: 'b' "
                           "propagate_down: false propagate_down: false }")
                .find(cut),
            std::string::npos);
  EXPECT_NE(why(ip + "bottom: 'a' top: 'unused' " + outputs + "}" + loss).find(cut),
            std::string::npos);
}

TEST(StatisticsOfBatches, AreReportedForNetsOfPhaseTest) {
  const auto layer = [](const std::string& name, const std::string& global) {
    return "layer { name: '" + name + "' type: 'BatchNorm' bottom: 'a' top: 'a' " +
           (global.empty() ? "" : "batch_norm_param { use_global_stats: " + global + " } ") + "}\n";
  };
  const std::string net = layer("x", "") + layer("y", "false") + layer("z", "true");
  EXPECT_TRUE(StatisticsOfBatches(GraphOf(net, TRAIN)).empty());
  EXPECT_TRUE(StatisticsOfBatches(GraphOf(layer("x", "") + layer("z", "true"), TEST)).empty());
  const std::vector<Warning> warnings = StatisticsOfBatches(GraphOf(net, TEST));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].message.find("BatchNorm layers 'y' of a net for phase TEST have "), 0u)
      << warnings[0].message;
}

}  // namespace
}  // namespace doppio

#include "core/net/graph/graph.h"

#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

constexpr char kInput[] =
    "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y'\n"
    "  input_param { shape { dim: 4 dim: 3 } shape { dim: 4 } } }\n";

std::string Ip(const std::string& name, const std::string& bottom, const std::string& more = "") {
  return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" +
         name + "' inner_product_param { num_output: 5 } " + more + " }\n";
}

std::string Loss(const std::string& bottom, const std::string& more = "") {
  return "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: '" + bottom +
         "' bottom: 'y' top: 'loss' " + more + " }\n";
}

std::string GraphMistakes(const std::string& text) {
  const Error e = Thrown([&] { GraphFromText(text); });
  EXPECT_EQ(e.code(), ExitCode::kConfig);
  return e.what();
}

TEST(Graph, ResolvesNamesShapesAndParameters) {
  const Graph graph = GraphFromText(kInput + Ip("a", "x") + Ip("b", "a") + Loss("b"));
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.edges[static_cast<size_t>(graph.FindEdge("b"))].shape, (Shape{4, 5}));
  ASSERT_EQ(graph.params.size(), 4u);
  EXPECT_EQ(graph.params[0].shape, (Shape{5, 3}));
  EXPECT_EQ(graph.params[3].shape, (Shape{5}));
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(graph.edges[static_cast<size_t>(graph.outputs[0])].loss_weight, 1);
}

TEST(Graph, GivesAnInPlaceBlobANewVersion) {
  const Graph graph =
      GraphFromText(kInput + Ip("a", "x") +
                    "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }\n" + Loss("a"));
  const int last = graph.FindEdge("a");
  EXPECT_EQ(graph.edges[static_cast<size_t>(last)].producer, 2);
  EXPECT_EQ(graph.nodes[3].bottoms[0], last);
  EXPECT_NE(graph.nodes[2].bottoms[0], last);
}

TEST(Graph, BackPropagatesOnlyWhereSomethingLearnsUnderALoss) {
  const Graph graph = GraphFromText(kInput + Ip("a", "x") + Ip("dead", "a") + Loss("a"));
  EXPECT_TRUE(graph.nodes[1].backward);
  EXPECT_FALSE(graph.nodes[1].bottom_gradient[0]) << "the input learns nothing";
  EXPECT_TRUE(graph.nodes[1].param_gradient[0]);
  EXPECT_FALSE(graph.nodes[2].backward) << "no loss depends on it";
  EXPECT_FALSE(graph.nodes[3].bottom_gradient[1]) << "a label";
}

TEST(Graph, PropagateDownCutsAndForceBackwardForces) {
  const Graph cut =
      GraphFromText(kInput + Ip("a", "x") + Ip("b", "a", "propagate_down: false") + Loss("b"));
  EXPECT_FALSE(cut.nodes[1].backward);
  EXPECT_TRUE(cut.nodes[2].param_gradient[0]);
  const Graph frozen =
      GraphFromText(kInput + Ip("a", "x", "param { lr_mult: 0 } param { lr_mult: 0 }") + Loss("a"));
  EXPECT_FALSE(frozen.nodes[1].backward);
  const Graph forced =
      GraphFromText("force_backward: true\n" + std::string(kInput) +
                    Ip("a", "x", "param { lr_mult: 0 } param { lr_mult: 0 }") + Loss("a"));
  EXPECT_TRUE(forced.nodes[1].bottom_gradient[0]);
  EXPECT_TRUE(forced.nodes[1].param_gradient[0]);
}

TEST(Graph, RefusesLabelsThatLearn) {
  const auto with = [](const std::string& rest) {
    return kInput + Ip("a", "x") + "layer { name: 'top' type: 'ArgMax' bottom: 'a' top: 'k' }\n" +
           "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'a' bottom: 'k' top: 'loss' " +
           rest + " }\n";
  };
  const std::string text = GraphMistakes(with(""));
  EXPECT_NE(text.find("net.prototxt:5:"), std::string::npos) << text;
  EXPECT_NE(text.find("SoftmaxWithLoss has no gradient for its bottom 'k', which learns; set "
                      "propagate_down: false for that bottom "
                      "to cut the gradient here"),
            std::string::npos)
      << text;
  EXPECT_NE(GraphMistakes(with("propagate_down: true propagate_down: true")).find("bottom 'k'"),
            std::string::npos);
  const Graph cut = GraphFromText(with("propagate_down: true propagate_down: false"));
  EXPECT_TRUE(cut.nodes[1].backward);
  EXPECT_NO_THROW(GraphFromText(with("loss_weight: 0"))) << "nothing flows back";
}

TEST(Graph, SharesParametersByName) {
  const Graph graph = GraphFromText(kInput + Ip("a", "x", "param { name: 'w' }") +
                                    "layer { name: 'b' type: 'InnerProduct' bottom: 'x' top: 'b' "
                                    "inner_product_param { num_output: 5 }"
                                    " param { name: 'w' lr_mult: 3 } }\n");
  EXPECT_EQ(graph.params.size(), 3u);
  EXPECT_EQ(graph.nodes[1].params[0], graph.nodes[2].params[0]);
  EXPECT_EQ(graph.params[0].uses, 2);
  EXPECT_EQ(graph.params[0].lr_mult, 3) << "only the later user names it, so it takes effect";
}

TEST(Graph, RefusesTwoLayersWithParametersAndOneName) {
  EXPECT_EQ(GraphMistakes(kInput + Ip("a", "x") +
                          "layer { name: 'a' type: 'InnerProduct' bottom: 'a' top: 'b'\n"
                          "  inner_product_param { num_output: 5 } }\n" +
                          Loss("b")),
            "net.prototxt:4:9: layer 'a': line 3 has another layer with parameters and this name, "
            "and files of "
            "weights tell them apart by name; give one another name");
  EXPECT_EQ(GraphFromText(kInput + Ip("a", "x") +
                          "layer { name: 'a' type: 'ReLU' bottom: 'a' top: 'a' }" + Loss("a"))
                .nodes.size(),
            4u);
}

TEST(Graph, RefusesConflictsBetweenSharers) {
  const std::string shape = GraphMistakes(kInput + Ip("a", "x", "param { name: 'w' }") +
                                          Ip("b", "a", "param { name: 'w' }"));
  EXPECT_NE(shape.find("'w' is shared with layer 'a' (line 3), where its shape is 5x3, not 5x5"),
            std::string::npos)
      << shape;
  const std::string mult = GraphMistakes(kInput + Ip("a", "x", "param { name: 'w' lr_mult: 1 }") +
                                         Ip("b", "x", "param { name: 'w' lr_mult: 2 }"));
  EXPECT_NE(mult.find("lr_mult is"), std::string::npos) << mult;
}

TEST(Graph, ReportsAllMistakesOfANetWithTheirPlaces) {
  const std::string text =
      GraphMistakes(kInput + Ip("conv1", "x") + Ip("b", "cnov1") +
                    "layer { name: 'c' type: 'Relu6' bottom: 'b' top: 'c' }\n" +
                    "layer { name: 'd' type: 'ReLU' bottom: 'x' top: 'b' }\n");
  EXPECT_NE(text.find("net.prototxt:4:"), std::string::npos) << text;
  EXPECT_NE(
      text.find(
          "bottom 'cnov1' is not produced by any layer above; did you mean 'conv1' (line 3)?"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("unknown type 'Relu6'; did you mean 'ReLU6'?"), std::string::npos) << text;
  EXPECT_NE(text.find("top 'b' is already produced by layer 'b' (line 4)"), std::string::npos)
      << text;
}

TEST(Graph, RefusesBlobsOfTooManyElements) {
  const auto input = [](const std::string& dims) {
    return "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { " + dims + " } } }\n";
  };
  EXPECT_EQ(GraphMistakes(input("dim: 9223372036854775807 dim: 1 dim: 2 dim: 4") + Ip("a", "x")),
            "net.prototxt:1:1: layer 'in': top 0 of shape 9223372036854775807x1x2x4 has more than "
            "the limit of 4398046511104 elements");
  EXPECT_EQ(GraphMistakes(input("dim: 1 dim: 2199023255552") + Ip("a", "x")),
            "net.prototxt:2:1: layer 'a': parameter 0 of shape 5x2199023255552 has more than the "
            "limit of 4398046511104 elements");
}

TEST(Graph, CountsWorkThatIsTooMuchAsTheMost) {
  const Graph graph = GraphFromText(
      "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 1 dim: 1 "
      "dim: 1 } } }\n"
      "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { "
      "num_output: 1 kernel_h: 1 kernel_w: 1073741824 pad_h: 0 pad_w: 1073741824 } }\n");
  EXPECT_EQ(graph.nodes[1].shape.macs, int64_t{1} << 53);
}

TEST(Graph, NamesTheForkOfALayerItLacks) {
  const auto mistake = [](const std::string& type) {
    return GraphMistakes(kInput +
                         ("layer { name: 'a' type: '" + type + "' bottom: 'x' top: 'a' }"));
  };
  EXPECT_EQ(mistake("CtcLoss"),
            "net.prototxt:3:19: layer 'a': unknown type 'CtcLoss': it comes from a fork for text "
            "recognition");
  EXPECT_EQ(mistake("Lstm"),
            "net.prototxt:3:19: layer 'a': unknown type 'Lstm': it comes from caffe-lstm "
            "(junhyukoh); use the layer LSTM with recurrent_param");
  EXPECT_EQ(
      mistake("ChannelScale"),
      "net.prototxt:3:19: layer 'a': unknown type 'ChannelScale': it comes from NormFace's or "
      "AM-Softmax's Caffe (happynear)");
  EXPECT_NE(mistake("WarpCTCLoss").find("text recognition"), std::string::npos);
  EXPECT_NE(mistake("Yolov3DetectionOutput").find("MobileNet-YOLO"), std::string::npos);
}

TEST(Graph, NamesTheTypeForOneOfTheOldFormat) {
  EXPECT_EQ(GraphMistakes(std::string(kInput) +
                          "layer { name: 'a' type: 'SOFTMAX_LOSS' bottom: 'x' bottom: 'y' }"),
            "net.prototxt:3:19: layer 'a': 'SOFTMAX_LOSS' is a type of layers { }; write type: "
            "\"SoftmaxWithLoss\" here");
}

TEST(Graph, ReplacesWellKnownLayersInPython) {
  // This program has no Python, so the module cannot be imported.
  const auto net = [](const std::string& name) {
    return "layer { name: 'i' type: 'Input' top: 's' top: 'b' top: 'size' input_param {\n"
           "  shape { dim: [1, 24, 2, 2] } shape { dim: [1, 48, 2, 2] } shape { dim: [1, 3] } } }\n"
           "layer { name: 'p' type: 'Python' bottom: 's' bottom: 'b' bottom: 'size' top: 'rois'\n"
           "  python_param { module: 'rpn.proposal_layer' layer: '" +
           name +
           "'\n    param_str: \"'feat_stride': 16 \\n'scales': !!python/tuple [4, 8, 16, 32]\" } "
           "}\n";
  };
  const Graph graph = GraphFromText(net("ProposalLayer"), TEST);
  EXPECT_EQ(graph.layer(1).type(), "Proposal");
  EXPECT_EQ(graph.layer(1).replaced,
            "Proposal replaces rpn.proposal_layer.ProposalLayer (this program is built without "
            "Python)");
  EXPECT_EQ(graph.edges.back().shape, (Shape{300, 5}));
  EXPECT_NE(GraphMistakes(net("OtherLayer")).find("type 'Python' of Caffe is not supported"),
            std::string::npos);
  // Proposal has one or two tops.
  std::string three_tops = net("ProposalLayer");
  three_tops.replace(three_tops.find("top: 'rois'"), 11, "top: 'x' top: 'y' top: 'z'");
  EXPECT_NE(GraphMistakes(three_tops).find("type 'Python' of Caffe is not supported"),
            std::string::npos);
}

TEST(Graph, TakesRegionsAndTheirTargetsAsConstants) {
  const auto conv = [](const std::string& name, int channels) {
    return "layer { name: '" + name + "' type: 'Convolution' bottom: 'x' top: '" + name +
           "' convolution_param { kernel_size: 1 num_output: " + std::to_string(channels) +
           " } }\n";
  };
  const Graph graph = GraphFromText(
      "layer { name: 'i' type: 'Input' top: 'x' top: 'size' top: 'objects' input_param {\n"
      "  shape { dim: [1, 2, 3, 3] } shape { dim: [1, 3] } shape { dim: [2, 5] } } }\n" +
      conv("scores", 18) + conv("codes", 36) +
      "layer { name: 'p' type: 'Proposal' bottom: 'scores' bottom: 'codes' bottom: 'size'\n"
      "  top: 'regions' proposal_param { post_nms_topn: 4 } }\n"
      "layer { name: 't' type: 'ProposalTarget' bottom: 'regions' bottom: 'objects' top: 'rois'\n"
      "  top: 'labels' top: 'targets' top: 'inside' top: 'outside'\n"
      "  proposal_target_param { num_classes: 2 batch_size: 4 } }\n"
      "layer { name: 'pool' type: 'ROIPooling' bottom: 'scores' bottom: 'rois' top: 'pool'\n"
      "  roi_pooling_param { pooled_h: 1 pooled_w: 1 } }\n"
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'pool' top: 'ip'\n"
      "  inner_product_param { num_output: 8 } }\n"
      "layer { name: 'loss' type: 'SmoothL1Loss' bottom: 'ip' bottom: 'targets'\n"
      "  bottom: 'inside' bottom: 'outside' top: 'loss' loss_weight: 1 }\n"
      "layer { name: 'loss2' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'labels' top: 'l2' }\n");
  std::vector<std::string> learning;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].backward) learning.push_back(graph.layer(static_cast<int>(i)).name());
  }
  EXPECT_EQ(learning, (std::vector<std::string>{"scores", "pool", "ip", "loss", "loss2"}));
}

TEST(Graph, AddsTheLossesOfTheLabelAndTheBoxOfARegion) {
  // The end of an R-FCN net for training with hard examples (OHEM).
  const Graph graph = GraphFromText(
      "layer { name: 'i' type: 'Input' top: 'regions' top: 'objects' top: 'scores' top: 'codes'\n"
      "  input_param { shape { dim: [4, 5] } shape { dim: [2, 5] } shape { dim: [4, 2, 1, 1] }\n"
      "    shape { dim: [4, 8, 1, 1] } } }\n"
      "layer { name: 't' type: 'ProposalTarget' bottom: 'regions' bottom: 'objects' top: 'rois'\n"
      "  top: 'labels' top: 'targets' top: 'inside' top: 'outside'\n"
      "  proposal_target_param { num_classes: 2 batch_size: 4 } }\n"
      "layer { name: 'of_label' type: 'SoftmaxWithLossOHEM' bottom: 'scores' bottom: 'labels'\n"
      "  top: 'a' top: 'b' top: 'label_loss' loss_weight: [0, 0, 0] }\n"
      "layer { name: 'of_box' type: 'SmoothL1LossOHEM' bottom: 'codes' bottom: 'targets'\n"
      "  bottom: 'inside' top: 'c' top: 'box_loss' loss_weight: [0, 0] }\n"
      "layer { name: 'sum' type: 'Eltwise' bottom: 'label_loss' bottom: 'box_loss' top: 'sum' }\n"
      "layer { name: 'hard' type: 'BoxAnnotatorOHEM' bottom: 'rois' bottom: 'sum' bottom: "
      "'labels'\n"
      "  bottom: 'inside' top: 'hard_labels' top: 'weights'\n"
      "  box_annotator_ohem_param { roi_per_img: 2 } }\n");
  for (const char* top : {"sum", "hard_labels"})
    EXPECT_EQ(graph.edges[static_cast<size_t>(graph.FindEdge(top))].shape, (Shape{4, 1, 1, 1}));
}

TEST(Graph, PointsAtALayerBelowThatMakesTheBottom) {
  const std::string text = GraphMistakes(kInput + Ip("a", "b") + Ip("b", "x"));
  EXPECT_NE(text.find("only by layer 'b' (line 4); move that layer up"), std::string::npos) << text;
}

TEST(Graph, ChecksHowManyBottomsTopsWeightsAndFlagsAreGiven) {
  EXPECT_NE(GraphMistakes(std::string(kInput) +
                          "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'x' top: 'l' }\n")
                .find("bottom(s), got 1"),
            std::string::npos);
  EXPECT_NE(GraphMistakes(kInput + Ip("a", "x", "propagate_down: true propagate_down: true"))
                .find("propagate_down is given 2 times for 1 bottoms"),
            std::string::npos);
  EXPECT_NE(GraphMistakes(kInput + Ip("a", "x", "loss_weight: 1 loss_weight: 2"))
                .find("loss_weight is given 2 times for 1 tops"),
            std::string::npos);
  EXPECT_NE(GraphMistakes(kInput + Ip("a", "x", "param {} param {} param {}"))
                .find("param is given 3 times, the layer has 2 parameter(s)"),
            std::string::npos);
}

TEST(Graph, RefusesToLearnThroughALayerWithoutAGradient) {
  const std::string text =
      GraphMistakes(kInput + Ip("a", "x") +
                    "layer { name: 't' type: 'Threshold' bottom: 'a' top: 't' }\n" + Loss("t"));
  EXPECT_NE(text.find("Threshold has no gradient"), std::string::npos) << text;
}

}  // namespace
}  // namespace doppio

// Tests drawings of nets as DOT text.
#include "tools/pages/net_drawing.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace doppio {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Draw(const std::string& text, const std::vector<std::string>& inputs = {}) {
  NetParameter net;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &net)) << text;
  const std::vector<LayerParameter> layers(net.layer().begin(), net.layer().end());
  return ToDot(MakeNetDrawing("net", inputs, layers), layers, "LR");
}

TEST(NetDrawing, HasABoxForEachLayerAndAnArrowForEachBlob) {
  const std::string drawing = Draw(
      "layer { name: 'conv1' type: 'Convolution' bottom: 'data' top: 'conv1'"
      "  convolution_param { num_output: 20 kernel_size: 5 stride: 2 } }"
      "layer { name: 'pool1' type: 'Pooling' bottom: 'conv1' top: 'pool1'"
      "  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }",
      {"data"});
  EXPECT_THAT(drawing, HasSubstr("digraph \"net\" {\n  rankdir=LR\n"));
  EXPECT_THAT(drawing, HasSubstr("n0 [label=\"data\" shape=ellipse]"));
  EXPECT_THAT(drawing, HasSubstr("n1 [label=\"conv1\\nConvolution 5×5/2\\n20 outputs\""));
  EXPECT_THAT(drawing, HasSubstr("n2 [label=\"pool1\\nPooling MAX 2×2/2\""));
  EXPECT_THAT(drawing, HasSubstr("n0 -> n1 [label=\"data\"]"));
  EXPECT_THAT(drawing, HasSubstr("n1 -> n2 [label=\"conv1\"]"));
  EXPECT_THAT(drawing, HasSubstr("n3 [label=\"pool1\" shape=ellipse]\n  n2 -> n3\n}\n"));
}

TEST(NetDrawing, LeadsThroughLayersInPlace) {
  const std::string drawing = Draw(
      "layer { name: 'a' type: 'InnerProduct' top: 'x' }"
      "layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'x' }"
      "layer { name: 'b' type: 'InnerProduct' bottom: 'x' top: 'y' }");
  EXPECT_THAT(drawing, HasSubstr("n0 -> n1 [label=\"x\"]"));
  EXPECT_THAT(drawing, HasSubstr("n1 -> n2 [label=\"x\"]"));
  EXPECT_THAT(drawing, Not(HasSubstr("n0 -> n2")));
}

TEST(NetDrawing, DrawsABlobFromEachPhasesMaker) {
  const std::string drawing = Draw(
      "layer { name: 'a' type: 'Data' top: 'x' include { phase: TRAIN } }"
      "layer { name: 'b' type: 'Data' top: 'x' include { phase: TEST } }"
      "layer { name: 'c' type: 'Silence' bottom: 'x' }");
  EXPECT_THAT(drawing, HasSubstr("n0 [label=\"a\\nData\\n(TRAIN)\""));
  EXPECT_THAT(drawing, HasSubstr("n0 -> n2"));
  EXPECT_THAT(drawing, HasSubstr("n1 -> n2"));
}

TEST(NetDrawing, ShowsTheDevicesOfLayers) {
  const std::string drawing = Draw(
      "layer { name: 'a' type: 'Data' top: 'x' device: 'cpu:1' }"
      "layer { name: 'b' type: 'ReLU' bottom: 'x' top: 'y' device: 'cpu:0' }"
      "layer { name: 'c' type: 'Silence' bottom: 'y' }");
  EXPECT_THAT(drawing, HasSubstr("n0 [label=\"a\\nData\\non cpu:1\" fillcolor=\"#d9d9d9\" "
                                 "penwidth=2 color=\"#1f78b4\"]"));
  EXPECT_THAT(drawing, HasSubstr("n1 [label=\"b\\nReLU\\non cpu:0\" fillcolor=\"#ccebc5\" "
                                 "penwidth=2 color=\"#e31a1c\"]"));
  EXPECT_THAT(drawing, HasSubstr("n2 [label=\"c\\nSilence\" fillcolor=\"#ffffff\"]"));
}

TEST(NetDrawing, DrawsABlobThatNoLayerMakes) {
  EXPECT_THAT(Draw("layer { name: 'c' type: 'Silence' bottom: 'x' }"),
              HasSubstr("n1 [label=\"x\" shape=ellipse]\n  n1 -> n0"));
}

TEST(NetDrawing, QuotesWhatDotWouldRead) {
  EXPECT_THAT(Draw("layer { name: 'a\"b\\\\c' type: 'T' bottom: 'x' }"),
              HasSubstr("label=\"a\\\"b\\\\c\\nT\""));
}

}  // namespace
}  // namespace doppio

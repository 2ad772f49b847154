// Tests that layer types declare the messages of LayerParameter that they read, and see no others.
#include "core/net/graph/read_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Unread(const std::string& text) {
  LayerParameter layer;
  ParseText(text, "net.prototxt", &layer);
  return UnreadFields(layer);
}

LayerShape InferEcho(const LayerSpec& spec, const std::vector<Shape>&) {
  LayerShape shape;
  shape.tops = {
      {1 + spec.param.relu_param().has_negative_slope(), 1 + spec.param.data_param().has_prefetch(),
       1 + spec.param.data_param().has_source(), 1 + spec.param.transform_param().has_scale(),
       1 + spec.param.transform_param().has_mirror()}};
  return shape;
}
// A test layer. Each extent of its top is 2 if the layer sees the field of this axis, else 1.
DOPPIO_REGISTER_LAYER("TestEcho", LayerType(&InferEcho)
                                      .Bottoms(0)
                                      .Tops(1)
                                      .Reads({"data_param.prefetch", "transform_param"})
                                      .Ignores({"transform_param.mirror"})
                                      .Refuses({"loss_param"}));

TEST(ReadFields, AreAllThatInferSees) {
  const Graph graph = GraphFromText(
      "layer { name: 'e' type: 'TestEcho' top: 'x' relu_param { negative_slope: 1 }\n"
      "  data_param { prefetch: 3 source: 's' } transform_param { scale: 2 mirror: true } }");
  EXPECT_EQ(graph.edges[0].shape, (Shape{1, 2, 1, 2, 1}));
  EXPECT_TRUE(graph.layer(0).param.has_relu_param()) << "the file's layer stays as it is";
}

TEST(ReadFields, RefuseAMessage) {
  EXPECT_EQ(Mistake([] {
              GraphFromText("layer { name: 'e' type: 'TestEcho' top: 'x'\n loss_param { } }");
            }),
            "net.prototxt:2:2: layer 'e': TestEcho does not take loss_param; remove it");
}

TEST(ReadFields, LeaveOutMessagesAndFields) {
  EXPECT_THAT(Unread("type: 'TestEcho' relu_param { } data_param { prefetch: 3 source: 's' }\n"
                     "transform_param { scale: 2 mirror: true } loss_param { }"),
              ElementsAre("transform_param.mirror", "data_param.source", "relu_param"));
  EXPECT_THAT(Unread("type: 'Unknown' relu_param { }"), IsEmpty());
  EXPECT_THAT(Unread("name: 'n' type: 'ReLU' bottom: 'a' top: 'a' param { } loss_weight: 1\n"
                     "include { } propagate_down: true phase: TRAIN device: 'cpu:0'"),
              IsEmpty());
}

// Intel Caffe's relu_param belongs to the ReLU that `relu: true` adds.
TEST(ReadFields, ContainThoseOfAFusedRelu) {
  for (const char* type : {"Convolution", "Deconvolution"}) {
    const std::string layer = "type: '" + std::string(type) + "' relu_param { negative_slope: 1 }";
    EXPECT_THAT(Unread(layer + " convolution_param { relu: true }"), IsEmpty()) << type;
    EXPECT_THAT(Unread(layer + " convolution_param { }"), ElementsAre("relu_param")) << type;
  }
}

}  // namespace
}  // namespace doppio

// Tests the attributes and inputs of a node without a model around it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/mistake.h"
#include "tools/onnx_import/node_attributes.h"
#include "tools/onnx_import/node_inputs.h"

namespace doppio {
namespace {

using testing::HasSubstr;

onnx::NodeProto NodeOf(const std::vector<std::string>& inputs) {
  onnx::NodeProto node;
  node.set_name("n");
  node.set_op_type("Op");
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output("y");
  return node;
}

onnx::NodeProto NodeWithAxis(int64_t axis) {
  onnx::NodeProto node = NodeOf({});
  onnx::AttributeProto* const attribute = node.add_attribute();
  attribute->set_name("axis");
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(axis);
  return node;
}

TEST(NodeAttributes, GiveTheirValueOrTheDefault) {
  const onnx::NodeProto node = NodeWithAxis(2);
  const NodeAttributes attributes(node);
  EXPECT_EQ(attributes.Int("axis", 1), 2);
  EXPECT_EQ(attributes.Int("group", 1), 1);
  EXPECT_TRUE(attributes.Has("axis"));
  EXPECT_FALSE(attributes.Has("group"));
}

TEST(NodeAttributes, RefuseAnotherType) {
  const onnx::NodeProto node = NodeWithAxis(2);
  EXPECT_THAT(Mistake([&] { NodeAttributes(node).Float("axis", 1); }),
              HasSubstr("node 'n' (Op): its attribute 'axis' has another type than ONNX's"));
}

TEST(NodeAttributes, RefuseOneThatNoCallAskedFor) {
  const onnx::NodeProto node = NodeWithAxis(2);
  const NodeAttributes attributes(node);
  attributes.Int("group", 1);
  EXPECT_THAT(Mistake([&] { attributes.CheckAllKnown(); }),
              HasSubstr("Doppio does not know its attribute 'axis'"));
  attributes.Int("axis", 1);
  attributes.CheckAllKnown();
}

TEST(NodeInputs, AreConstantsOrBlobs) {
  ImportGraph graph({}, 13);
  OnnxArray constant;
  constant.shape = {2};
  constant.floats = {3, 4};
  graph.SetStored("c", constant);
  graph.AddInput("x", {1, 5}, false);
  const onnx::NodeProto node = NodeOf({"x", "", "c"});
  const NodeInputs inputs(node, &graph);
  EXPECT_EQ(inputs.count(), 3);
  EXPECT_FALSE(inputs.Has(1));
  EXPECT_FALSE(inputs.Has(3));
  EXPECT_EQ(inputs.Blob(0).shape, (Shape{1, 5}));
  EXPECT_EQ(inputs.Floats(2).floats, (std::vector<float>{3, 4}));
  EXPECT_THAT(Mistake([&] { inputs.At(1); }), HasSubstr("it has no input 1"));
  EXPECT_THAT(Mistake([&] { inputs.Blob(2); }), HasSubstr("its input 2 is a constant"));
  EXPECT_THAT(Mistake([&] { inputs.Constant(0); }), HasSubstr("its input 0, 'x', is computed"));
  EXPECT_THAT(Mistake([&] { inputs.Integers(2); }), HasSubstr("its input 2 must be integers"));
  EXPECT_THAT(Mistake([&] { inputs.Number(2); }), HasSubstr("must be one number, not 2"));
}

TEST(NodeInputs, HaveBeenComputedBefore) {
  ImportGraph graph({}, 13);
  const onnx::NodeProto node = NodeOf({"x"});
  EXPECT_THAT(Mistake([&] { NodeInputs(node, &graph); }),
              HasSubstr("no earlier node and no constant is its input 'x'"));
}

}  // namespace
}  // namespace doppio

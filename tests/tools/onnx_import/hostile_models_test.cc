// Tests that models with hostile numbers are refused, and need little time and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/onnx_import/onnx_model.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kFourGiga = int64_t{1} << 32;

TEST(HostileModels, KeepNoLowerBitsOfLargeNumbers) {
  const Values one = {1};
  const OnnxModel models[] = {
      One("DepthToSpace", {1, 4, 2, 2}).Int("blocksize", kFourGiga),
      One("SpaceToDepth", {1, 1, 2, 2}).Int("blocksize", kFourGiga * 256),
      One("Conv", {1, 1, 4, 4}, {"w"}).Int("group", kFourGiga + 1).Floats("w", {1, 1, 1, 1}, one),
      One("ConvTranspose", {1, 1, 4, 4}, {"w"})
          .Int("group", kFourGiga + 1)
          .Floats("w", {1, 1, 1, 1}, one),
      One("LRN", {1, 8, 2, 2}).Int("size", kFourGiga + 5),
      One("Tile", {1, 2}, {"r"}).Integers("r", {1, kFourGiga + 1}),
  };
  for (const OnnxModel& model : models) {
    EXPECT_THAT(ImportMistake(model), HasSubstr("; Doppio's layers have 0 to 2147483647 there"))
        << model.model.graph().node(0).op_type();
  }
  EXPECT_THAT(
      ImportMistake(
          One("Pad", {1, 1, 2, 2}, {"p"}).Integers("p", {0, 0, 0, kFourGiga + 1, 0, 0, 0, 0})),
      HasSubstr("a pad is larger than 1048576"));
  const int64_t most = int64_t{1} << 62;  // four times this is 0 in 64 bits
  OnnxModel split;
  split.Input("x", {4, 1}).Integers("s", {most, most, most, most + 4});
  split.Node("Split", {"x", "s"}, {"a", "b", "c", "y"}).Output("y");
  EXPECT_THAT(ImportMistake(split), HasSubstr("its parts do not add up to 4"));
  EXPECT_THAT(ImportMistake(One("Split", {1, 4}).Int("num_outputs", INT64_MAX)),
              HasSubstr("num_outputs is not that of its outputs"));
  EXPECT_THAT(
      ImportMistake(One("Resize", {1, 1, 2, 2}, {"", "s"}).Floats("s", {4}, {1, 1, 1e30f, 1})),
      HasSubstr("node 'y_node' (Resize)"));
}

TEST(HostileModels, RefuseAxesThatAreNoPermutation) {
  for (const std::vector<int64_t>& perm : {std::vector<int64_t>{0, 0, 0, 0}, {0}, {0, 1, 2, -2}}) {
    EXPECT_THAT(ImportMistake(One("Transpose", {1, 2, 3, 4}).Ints("perm", perm)),
                HasSubstr("node 'y_node' (Transpose): "))
        << perm.size();
  }
  EXPECT_THAT(ImportMistake(One("ReduceSum", {1, 2, 3}, {"a"}).Integers("a", {2, -1})),
              HasSubstr("it names an axis twice"));
}

TEST(HostileModels, RefuseTwoValuesOfOneName) {
  OnnxModel nodes;
  nodes.Input("x", {1, 2}).Node("Relu", {"x"}, {"y"}).Node("Tanh", {"x"}, {"y"}).Output("y");
  EXPECT_THAT(ImportMistake(nodes), HasSubstr("another value with the name of its output 'y'"));
  OnnxModel input;
  input.Input("x", {1, 2}).Node("Relu", {"x"}, {"x"}).Output("x");
  EXPECT_THAT(ImportMistake(input), HasSubstr("another value with the name of its output 'x'"));
  OnnxModel split;
  split.Input("x", {2, 2}).Node("Split", {"x"}, {"y", "y"}).Output("y");
  EXPECT_THAT(ImportMistake(split), HasSubstr("another value with the name of its output 'y'"));
  EXPECT_THAT(
      ImportMistake(One("Add", {1, 1}, {"c"}).Floats("c", {1, 1}, {1}).Floats("c", {1, 1}, {2})),
      HasSubstr("the model has two constants 'c'"));
}

TEST(HostileModels, RefuseAttributesAndConstantsOfAnotherType) {
  OnnxModel axis = One("Softmax", {1, 2}).Int("axis", 1);
  axis.model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_type(
      onnx::AttributeProto::FLOAT);
  EXPECT_THAT(ImportMistake(axis), HasSubstr("its attribute 'axis' has another type than ONNX's"));
  for (const char* op : {"PRelu", "Conv"}) {
    EXPECT_THAT(ImportMistake(One(op, {1, 1, 1}, {"w"}).Integers("w", {1})),
                HasSubstr("its input 1 must be floats"));
  }
}

// A model of nodes that each make 2^24 integers of a few bytes.
TEST(HostileModels, MayNotFillTheMemoryWithConstants) {
  OnnxModel fill;
  fill.Input("x", {1, 2}).Integers("s", {1 << 24});
  for (const char* name : {"a", "b", "c"}) fill.Node("ConstantOfShape", {"s"}, {name});
  fill.Node("Relu", {"x"}, {"y"}).Output("y");
  EXPECT_THAT(ImportMistake(fill),
              HasSubstr("its result would be 16777216; the model's nodes compute constants of too "
                        "many elements"));
  // Copies under other names and shapes, and results that are small but need a large input.
  for (const char* op : {"Identity", "Reshape", "ReduceProd"}) {
    OnnxModel copies;
    copies.Input("x", {1, 2}).Floats("c", {1 << 16}, Values(1 << 16, 1)).Integers("to", {1 << 16});
    for (int i = 0; i < 600; ++i) {
      copies.Node(op,
                  op == std::string("Reshape") ? std::vector<std::string>{"c", "to"}
                                               : std::vector<std::string>{"c"},
                  {std::to_string(i)});
    }
    copies.Node("Relu", {"x"}, {"y"}).Output("y");
    EXPECT_THAT(ImportMistake(copies), HasSubstr("the model's nodes read too many constants"))
        << op;
  }
}

TEST(HostileModels, MayNotFillTheMemoryWithWeights) {
  OnnxModel widened = One("Conv", {1, 1, 4, 4}, {"w"}).Floats("w", {1, 1, 1, 1}, {1});
  const int64_t pad = 1 << 20;
  EXPECT_THAT(ImportMistake(widened.Ints("pads", {0, 0, pad, pad})),
              HasSubstr("its result would be 1x1x1048577x1048577"));
  EXPECT_THAT(
      ImportMistake(One("Pad", {1, 1, 4, 4}, {"p"}).Integers("p", {0, 0, 0, 0, 0, 0, pad, pad})),
      HasSubstr("its result would be 1x1x1048577x1048577"));
}

TEST(HostileModels, MayNotHaveShapesThatWrapAround) {
  OnnxModel wraps;
  wraps.Input("x", {1, 2}).Floats("c", {0}, {}).Integers("to", {kFourGiga, kFourGiga, -1});
  wraps.Node("Reshape", {"c", "to"}, {"d"}).Node("Relu", {"x"}, {"y"}).Output("y");
  EXPECT_THAT(ImportMistake(wraps), HasSubstr("its result has too many axes or elements"));
  OnnxModel deep;
  deep.Input("x", {1, 2}).Floats("c", {1}, {1}).Integers("to", std::vector<int64_t>(1000, 1));
  deep.Node("Expand", {"c", "to"}, {"d"}).Node("Relu", {"x"}, {"y"}).Output("y");
  EXPECT_THAT(ImportMistake(deep), HasSubstr("its result would have 1000 axes"));
}

TEST(HostileModels, KeepIntegersOf64Bits) {
  // Exporters mean "to the end" by the largest integer, and convert it.
  OnnxModel model;
  model.Input("x", {1, 3}).Integers("start", {1}).Integers("most", {INT64_MAX});
  model.Integers("axis", {1}).Integers("step", {INT64_MAX});
  model.Node("Cast", {"most"}, {"end"}).Int("to", onnx::TensorProto::INT64);
  model.Node("Slice", {"x", "start", "end", "axis"}, {"y"}).Output("y");
  EXPECT_THAT(Result(model, {1, 2, 3}), ElementsAre(2, 3));
  OnnxModel steps;
  steps.Input("x", {1, 1}).Floats("c", {4}, {1, 2, 3, 4}).Integers("s", {1}).Integers("e", {4});
  steps.Integers("a", {0}).Integers("d", {INT64_MAX});
  steps.Node("Slice", {"c", "s", "e", "a", "d"}, {"part"}).Node("Add", {"x", "part"}, {"y"});
  EXPECT_THAT(Result(steps.Output("y"), {10}), ElementsAre(12));
}

TEST(HostileModels, GiveEqualNamesInLinearTime) {
  OnnxModel model;
  model.Input("x", {1, 1});
  for (int i = 0; i < 300; ++i) {
    model.Node("Relu", {i == 0 ? "x" : std::to_string(i - 1)}, {std::to_string(i)});
    model.model.mutable_graph()->mutable_node(i)->set_name("relu");
  }
  const ImportedNet imported = ImportModel(model.Output("299").model, "");
  EXPECT_EQ(imported.net.layer(1).name(), "relu");
  EXPECT_EQ(imported.net.layer(2).name(), "relu_2");
  EXPECT_EQ(imported.net.layer(300).name(), "relu_300");
}

}  // namespace
}  // namespace doppio

// Tests the nets that `import` makes of small ONNX models.
#include "tools/onnx_import/import_onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/tools/onnx_import/onnx_model.h"
#include "tools/onnx_import/import_node.h"

namespace doppio {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

TEST(Import, NamesLayersAndBlobsAsTheModel) {
  OnnxModel model;
  model.Input("x", {1, 2}).Node("Relu", {"x"}, {"y"}).Node("Relu", {"y"}, {"y2"}).Output("y2");
  const ImportedNet imported = ImportModel(model.model, "");
  ASSERT_EQ(imported.net.layer_size(), 3);
  EXPECT_EQ(imported.net.layer(0).top(0), "x");
  EXPECT_EQ(imported.net.layer(1).name(), "y_node");
  EXPECT_EQ(imported.net.layer(2).bottom(0), "y");
  EXPECT_THAT(imported.outputs, ElementsAre("y2"));
}

TEST(Import, ConvolvesWithPadsThatDiffer) {
  // One row of pixels; the windows begin at 0 and 2, and the last one reaches beyond the end.
  OnnxModel model = One("Conv", {1, 1, 1, 4}, {"w"});
  model.Floats("w", {1, 1, 1, 3}, {1, 10, 100}).Ints("strides", {1, 2}).Ints("pads", {0, 0, 0, 1});
  EXPECT_THAT(Result(model, {1, 2, 3, 4}), ElementsAre(321, 43));
  // The same with the pad in front: windows at -1 and 1.
  OnnxModel front = One("Conv", {1, 1, 1, 4}, {"w"});
  front.Floats("w", {1, 1, 1, 3}, {1, 10, 100}).Ints("strides", {1, 2}).Ints("pads", {0, 1, 0, 0});
  EXPECT_THAT(Result(front, {1, 2, 3, 4}), ElementsAre(210, 432));
}

TEST(Import, PadsToTheSameSize) {
  for (const char* pad : {"SAME_UPPER", "SAME_LOWER"}) {
    OnnxModel model = One("Conv", {1, 1, 1, 4}, {"w", "b"});
    model.Floats("w", {1, 1, 1, 2}, {1, 10}).Floats("b", {1}, {1000}).Text("auto_pad", pad);
    if (pad == std::string("SAME_UPPER")) {
      EXPECT_THAT(Result(model, {1, 2, 3, 4}), ElementsAre(1021, 1032, 1043, 1004));
    } else {
      EXPECT_THAT(Result(model, {1, 2, 3, 4}), ElementsAre(1010, 1021, 1032, 1043));
    }
  }
}

TEST(Import, TakesPadsOverIntoConvolutions) {
  OnnxModel model;
  model.Input("x", {1, 1, 1, 3})
      .Integers("pads", {0, 0, 0, 1, 0, 0, 0, 2})
      .Node("Pad", {"x", "pads"}, {"p"})
      .Floats("w", {1, 1, 1, 2}, {1, 10})
      .Node("Conv", {"p", "w"}, {"y"})
      .Output("y");
  EXPECT_EQ(Types(model), "Convolution");
  EXPECT_THAT(Result(model, {1, 2, 3}), ElementsAre(10, 21, 32, 3, 0));
}

TEST(Import, PadsForOtherOperators) {
  OnnxModel model = One("Pad", {1, 2, 1, 2}, {"pads"});
  model.Integers("pads", {0, 0, 0, 2, 0, 0, 1, 1});
  EXPECT_THAT(Result(model, {1, 2, 3, 4}),
              ElementsAre(0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0));
  OnnxModel cut = One("Pad", {1, 2, 1, 2}, {"pads"});
  cut.Integers("pads", {0, 0, 0, -1, 0, 0, 0, 0});
  EXPECT_THAT(ImportMistake(cut), HasSubstr("Doppio cuts nothing off"));
}

TEST(Import, MultipliesByMatrices) {
  OnnxModel gemm = One("Gemm", {1, 2}, {"w", "b"});
  gemm.Floats("w", {2, 3}, {1, 2, 3, 4, 5, 6}).Floats("b", {3}, {1, 1, 2});
  gemm.Float("alpha", 2).Float("beta", 10);
  EXPECT_THAT(Result(gemm, {1, 10}), ElementsAre(92, 114, 146));
  OnnxModel turned = One("Gemm", {1, 2}, {"w", "b"});
  turned.Floats("w", {3, 2}, {1, 4, 2, 5, 3, 6}).Floats("b", {1}, {1}).Int("transB", 1);
  EXPECT_THAT(Result(turned, {1, 10}), ElementsAre(42, 53, 64));
}

TEST(Import, AddsTheBiasToTheProduct) {
  OnnxModel model;
  model.Input("x", {1, 2, 2})
      .Floats("w", {2, 2}, {1, 2, 3, 4})
      .Floats("b", {2}, {100, 200})
      .Node("MatMul", {"x", "w"}, {"p"})
      .Node("Add", {"b", "p"}, {"y"})
      .Output("y");
  EXPECT_EQ(Types(model), "InnerProduct");
  EXPECT_THAT(Result(model, {1, 0, 0, 1}), ElementsAre(101, 202, 103, 204));
  // Another output reads the product.
  model.Output("p");
  EXPECT_EQ(Types(model), "InnerProduct Bias");
  EXPECT_THAT(Result(model, {1, 0, 0, 1}), ElementsAre(101, 202, 103, 204));
}

TEST(Import, MultipliesTwoValues) {
  OnnxModel model;
  model.Input("x", {1, 2, 2}).Node("Relu", {"x"}, {"r"}).Node("MatMul", {"x", "r"}, {"y"});
  model.Output("y");
  EXPECT_EQ(Types(model), "ReLU MatMul");
  EXPECT_THAT(Result(model, {1, 2, 3, -4}), ElementsAre(7, 2, -9, 6));
}

TEST(Import, NormalizesPartsOfSamples) {
  OnnxModel layers = One("LayerNormalization", {1, 2, 2}, {"s", "b"}, 17);
  layers.Floats("s", {2}, {2, 1}).Floats("b", {2}, {0, 10}).Float("epsilon", 0);
  EXPECT_EQ(Types(layers), "LayerNorm");
  EXPECT_THAT(Result(layers, {1, 3, 9, 5}), ElementsAre(-2, 11, 2, 9));
  OnnxModel samples = One("LayerNormalization", {1, 2, 1}, {"s"}, 17);
  samples.Floats("s", {2, 1}, {2, 1}).Float("epsilon", 0).Int("axis", 1);
  EXPECT_THAT(Result(samples, {1, 3}), ElementsAre(-2, 1));
  // The factors belong to groups before opset 21, and to channels since then.
  for (const int opset : {18, 21}) {
    OnnxModel groups = One("GroupNormalization", {1, 4}, {"s", "b"}, opset);
    groups.Int("num_groups", 2).Float("epsilon", 0);
    if (opset == 18) {
      groups.Floats("s", {2}, {2, 1}).Floats("b", {2}, {0, 10});
    } else {
      groups.Floats("s", {4}, {2, 2, 1, 1}).Floats("b", {4}, {0, 0, 10, 10});
    }
    EXPECT_EQ(Types(groups), "GroupNorm");
    EXPECT_THAT(Result(groups, {1, 3, 9, 5}), ElementsAre(-2, 2, 11, 9));
  }
  OnnxModel instances = One("InstanceNormalization", {1, 2, 2}, {"s", "b"});
  instances.Floats("s", {2}, {2, 1}).Floats("b", {2}, {0, 10}).Float("epsilon", 0);
  EXPECT_EQ(Types(instances), "InstanceNorm");
  EXPECT_THAT(Result(instances, {1, 3, 9, 5}), ElementsAre(-2, 2, 11, 9));
  OnnxModel wrong = One("LayerNormalization", {1, 2, 2}, {"s"}, 17);
  wrong.Floats("s", {1}, {2});
  EXPECT_THAT(ImportMistake(wrong), HasSubstr("its input 1 is 1"));
}

// x * (1 + erf(x / sqrt(2))) * 0.5 in the orders in which exporters write it.
OnnxModel WrittenGelu(int order) {
  OnnxModel model;
  model.Input("x", {2}).Floats("r", {}, {1.41421354f}).Floats("i", {1}, {0.707106769f});
  model.Floats("one", {}, {1}).Floats("half", {}, {0.5f});
  if (order % 2 == 0) {
    model.Node("Div", {"x", "r"}, {"d"}).Node("Erf", {"d"}, {"e"}).Node("Add", {"e", "one"}, {"a"});
  } else {
    model.Node("Mul", {"i", "x"}, {"d"}).Node("Erf", {"d"}, {"e"}).Node("Add", {"one", "e"}, {"a"});
  }
  if (order < 2) {
    model.Node("Mul", {"x", "a"}, {"m"}).Node("Mul", {"m", "half"}, {"y"});
  } else if (order < 4) {
    model.Node("Mul", {"half", "a"}, {"m"}).Node("Mul", {"m", "x"}, {"y"});
  } else {
    model.Node("Mul", {"x", "half"}, {"m"}).Node("Mul", {"a", "m"}, {"y"});
  }
  return model.Output("y");
}

TEST(Import, FindsGelu) {
  const Values want = {-0.158655254f, 1.95449974f};
  for (int order = 0; order < 6; ++order) {
    const OnnxModel model = WrittenGelu(order);
    EXPECT_EQ(Types(model), "GELU") << order;
    EXPECT_THAT(Result(model, {-1, 2}), Pointwise(FloatNear(1e-6f), want)) << order;
  }
  const OnnxModel named = One("Gelu", {2}, {}, 20);
  EXPECT_THAT(Result(named, {-1, 2}), Pointwise(FloatNear(1e-6f), want));
  OnnxModel by_tanh = One("Gelu", {2}, {}, 20);
  by_tanh.Text("approximate", "tanh");
  EXPECT_THAT(Result(by_tanh, {-1, 2})[0], FloatNear(-0.158808f, 1e-6f));
  OnnxModel unknown = One("Gelu", {2}, {}, 20);
  unknown.Text("approximate", "cubic");
  EXPECT_THAT(ImportMistake(unknown), HasSubstr("not by 'cubic'"));
}

TEST(Import, RefusesOtherUsesOfErf) {
  EXPECT_THAT(ImportMistake(One("Erf", {2})), HasSubstr("no layer for this operator"));
  // Another output reads a part of the pattern.
  for (const char* part : {"d", "e", "a"}) {
    OnnxModel model = WrittenGelu(0);
    model.Output(part);
    EXPECT_THAT(ImportMistake(model), HasSubstr("no layer for this operator")) << part;
  }
  OnnxModel other = WrittenGelu(0);
  other.model.mutable_graph()->mutable_initializer(2)->set_float_data(0, 2);
  EXPECT_THAT(ImportMistake(other), HasSubstr("no layer for this operator"));
}

TEST(Import, PoolsAsOnnxDoes) {
  const Values row = {5, 1, 2, 3, 4, 6};
  const auto pool = [](const std::string& op) {
    OnnxModel model = One(op, {1, 1, 1, 6});
    return model.Ints("kernel_shape", {1, 3}).Ints("strides", {1, 2});
  };
  EXPECT_THAT(Result(pool("MaxPool"), row), ElementsAre(5, 4));
  EXPECT_THAT(Result(pool("MaxPool").Int("ceil_mode", 1), row), ElementsAre(5, 4, 6));
  EXPECT_THAT(Result(pool("MaxPool").Ints("pads", {0, 0, 0, 1}), row), ElementsAre(5, 4, 6));
  EXPECT_THAT(Result(pool("MaxPool").Ints("pads", {0, 1, 0, 1}), row), ElementsAre(5, 3, 6));
  const OnnxModel inside = pool("AveragePool").Ints("pads", {0, 1, 0, 1});
  EXPECT_THAT(Result(inside, row), ElementsAre(3, 2, FloatEq(13 / 3.0f)));
  OnnxModel whole = pool("AveragePool").Ints("pads", {0, 1, 0, 1}).Int("count_include_pad", 1);
  EXPECT_THAT(Result(whole, row), ElementsAre(2, 2, FloatEq(13 / 3.0f)));
  // A kernel that exceeds the input by less than a stride has one window.
  OnnxModel wide = One("MaxPool", {1, 1, 1, 6});
  wide.Ints("kernel_shape", {1, 8}).Ints("strides", {1, 3});
  EXPECT_THAT(Result(wide, row), ElementsAre(6));
  EXPECT_THAT(ImportMistake(pool("MaxPool").Ints("dilations", {1, 2})),
              HasSubstr("its windows are dilated"));
}

TEST(Import, ReducesOverTheImageAndOverLastAxes) {
  const Values x = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const bool keep : {false, true}) {
    OnnxModel mean = One("ReduceMean", {1, 2, 2, 2});
    mean.Ints("axes", {2, -1}).Int("keepdims", keep);
    ImportedRun run(ImportModel(mean.model, ""));
    EXPECT_THAT(run.Run({{"x", x}}), ElementsAre(2.5f, 6.5f));
    EXPECT_EQ(run.ShapeOf(0), keep ? (Shape{1, 2, 1, 1}) : (Shape{1, 2}));
  }
  OnnxModel sum = One("ReduceSum", {1, 2, 4}, {"axes"});
  EXPECT_THAT(Result(sum.Integers("axes", {2}), x), ElementsAre(10, 26));
  OnnxModel first = One("ReduceSum", {1, 2, 4}, {"axes"});
  EXPECT_THAT(ImportMistake(first.Integers("axes", {1})),
              HasSubstr("Doppio reduces all axes from one on"));
}

TEST(Import, NormalizesByStoredStatistics) {
  OnnxModel model = One("BatchNormalization", {1, 2, 1, 1}, {"s", "b", "m", "v"});
  model.Floats("s", {2}, {2, 3}).Floats("b", {2}, {1, -1}).Floats("m", {2}, {4, 5});
  model.Floats("v", {2}, {15, 3}).Float("epsilon", 1);
  EXPECT_EQ(Types(model), "BatchNorm Scale");
  EXPECT_THAT(Result(model, {8, 7}), Pointwise(FloatNear(1e-5f), {3.0f, 2.0f}));
}

TEST(Import, ComputesActivations) {
  const Values x = {-7, -1, 0.5f, 8};
  const auto of = [&](const OnnxModel& model) { return Result(model, x); };
  const auto near = [](const Values& values) { return Pointwise(FloatNear(2e-5f), values); };
  const std::vector<int64_t> dims = {1, 4};
  EXPECT_THAT(of(One("Relu", dims)), near({0, 0, 0.5f, 8}));
  EXPECT_THAT(of(One("LeakyRelu", dims).Float("alpha", 0.1f)), near({-0.7f, -0.1f, 0.5f, 8}));
  EXPECT_THAT(of(One("Clip", dims, {}, 7).Float("min", -2).Float("max", 3)),
              near({-2, -1, 0.5f, 3}));
  OnnxModel six = One("Clip", dims, {"a", "b"}).Floats("a", {}, {0}).Floats("b", {}, {6});
  EXPECT_EQ(Types(six), "ReLU6");
  EXPECT_THAT(of(six), near({0, 0, 0.5f, 6}));
  EXPECT_THAT(of(One("HardSigmoid", dims)), near({0, 0.3f, 0.6f, 1}));
  EXPECT_THAT(of(One("HardSwish", dims, {}, 14)), near({0, -1 / 3.0f, 7 / 24.0f, 8}));
  EXPECT_THAT(of(One("Selu", dims)),
              near({1.0507010f * 1.6732632f * (std::exp(-7.0f) - 1),
                    1.0507010f * 1.6732632f * (std::exp(-1.0f) - 1), 0.5253505f, 8.405608f}));
  EXPECT_THAT(of(One("Neg", dims)), near({7, 1, -0.5f, -8}));
  EXPECT_THAT(of(One("Pow", dims, {"p"}).Floats("p", {}, {2})), near({49, 1, 0.25f, 64}));
  EXPECT_THAT(of(One("PRelu", dims, {"s"}).Floats("s", {4}, {1, 2, 3, 4})),
              near({-7, -2, 0.5f, 8}));
}

TEST(Import, TakesSoftmaxOfTheOpset) {
  OnnxModel last = One("Softmax", {1, 2, 2});
  EXPECT_THAT(Result(last, {0, 0, 1, 1}), Pointwise(FloatNear(1e-6f), Values(4, 0.5f)));
  OnnxModel old = One("Softmax", {1, 2, 2}, {}, 12);
  EXPECT_THAT(ImportMistake(old), HasSubstr("it is over several axes at once"));
  OnnxModel log = One("LogSoftmax", {1, 2});
  EXPECT_THAT(Result(log, {0, 0}), Pointwise(FloatNear(1e-6f), Values(2, std::log(0.5f))));
}

TEST(Import, BroadcastsConstants) {
  const Values x = {1, 2, 3, 4};
  const auto of = [&](const std::string& op, bool first, const std::vector<int64_t>& dims,
                      const Values& values) {
    OnnxModel model;
    model.Input("x", {1, 2, 1, 2}).Floats("c", dims, values);
    model.Node(op, first ? std::vector<std::string>{"c", "x"} : std::vector<std::string>{"x", "c"},
               {"y"});
    model.Output("y");
    return Result(model, x);
  };
  EXPECT_THAT(of("Add", false, {}, {10}), ElementsAre(11, 12, 13, 14));
  EXPECT_THAT(of("Sub", true, {1}, {10}), ElementsAre(9, 8, 7, 6));
  EXPECT_THAT(of("Div", true, {}, {12}), Pointwise(FloatNear(1e-5f), {12, 6, 4, 3}));
  EXPECT_THAT(of("Mul", false, {2, 1, 1}, {10, 100}), ElementsAre(10, 20, 300, 400));
  EXPECT_THAT(of("Sub", false, {1, 2, 1, 1}, {1, 2}), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(of("Sub", true, {1, 2, 1, 1}, {1, 2}), ElementsAre(0, -1, -1, -2));
  EXPECT_THAT(of("Add", false, {2}, {10, 20}), ElementsAre(11, 22, 13, 24));
}

TEST(Import, BroadcastsAValueForEachChannel) {
  OnnxModel model;
  model.Input("x", {2, 2, 1, 2})
      .Node("GlobalAveragePool", {"x"}, {"m"})
      .Node("Mul", {"m", "x"}, {"y"})
      .Output("y");
  EXPECT_THAT(Result(model, {1, 3, 2, 4, 5, 7, 0, 2}), ElementsAre(2, 6, 6, 12, 30, 42, 0, 2));
}

TEST(Import, JoinsComputedValues) {
  const auto of = [](const std::string& op) {
    OnnxModel model;
    model.Input("x", {1, 2}).Node("Neg", {"x"}, {"n"}).Node(op, {"x", "n"}, {"y"}).Output("y");
    return Result(model, {1, -2});
  };
  EXPECT_THAT(of("Add"), ElementsAre(0, 0));
  EXPECT_THAT(of("Sub"), ElementsAre(2, -4));
  EXPECT_THAT(of("Mul"), ElementsAre(-1, -4));
  EXPECT_THAT(of("Div"), ElementsAre(-1, -1));
  EXPECT_THAT(of("Max"), ElementsAre(1, 2));
  EXPECT_THAT(of("Min"), ElementsAre(-1, -2));
  EXPECT_THAT(of("Mean"), ElementsAre(0, 0));
}

TEST(Import, CutsAndJoins) {
  OnnxModel model;
  model.Input("x", {1, 5})
      .Integers("sizes", {1, 3, 1})
      .Node("Split", {"x", "sizes"}, {"a", "b", "c"})
      .Int("axis", 1)
      .Node("Concat", {"c", "b", "a"}, {"y"})
      .Int("axis", -1)
      .Output("y");
  EXPECT_THAT(Result(model, {1, 2, 3, 4, 5}), ElementsAre(5, 2, 3, 4, 1));
  OnnxModel slice = One("Slice", {1, 5}, {"s", "e", "a"});
  slice.Integers("s", {1}).Integers("e", {-1}).Integers("a", {1});
  const ImportedNet imported = ImportModel(slice.model, "");
  EXPECT_THAT(ImportedRun(imported).Run({{"x", {1, 2, 3, 4, 5}}}), ElementsAre(2, 3, 4));
}

TEST(Import, MovesAxes) {
  OnnxModel turn = One("Transpose", {1, 2, 3}).Ints("perm", {0, 2, 1});
  EXPECT_THAT(Result(turn, {1, 2, 3, 4, 5, 6}), ElementsAre(1, 4, 2, 5, 3, 6));
  // Blocks of 2 x 2 pixels from four channels, in both orders that ONNX has.
  OnnxModel depth = One("DepthToSpace", {1, 4, 1, 1}).Int("blocksize", 2);
  EXPECT_THAT(Result(depth, {1, 2, 3, 4}), ElementsAre(1, 2, 3, 4));
  const Values eight = {1, 2, 3, 4, 5, 6, 7, 8};
  OnnxModel columns = One("DepthToSpace", {1, 8, 1, 1}).Int("blocksize", 2);
  EXPECT_THAT(Result(columns, eight), ElementsAre(1, 3, 5, 7, 2, 4, 6, 8));
  EXPECT_THAT(Result(columns.Text("mode", "CRD"), eight), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  OnnxModel space = One("SpaceToDepth", {1, 1, 2, 2}).Int("blocksize", 2);
  EXPECT_THAT(Result(space, {1, 2, 3, 4}), ElementsAre(1, 2, 3, 4));
}

TEST(Import, ComputesShapesItself) {
  // As PyTorch writes x.view(x.size(0), -1).
  OnnxModel model;
  model.Input("x", {2, 3, 1, 1})
      .Node("Shape", {"x"}, {"shape"})
      .Integers("zero", {0})
      .Node("Gather", {"shape", "zero"}, {"n"})
      .Integers("rest", {-1})
      .Node("Concat", {"n", "rest"}, {"to"})
      .Int("axis", 0)
      .Node("Reshape", {"x", "to"}, {"y"})
      .Output("y");
  EXPECT_EQ(Types(model), "Flatten");
  EXPECT_EQ(ImportedRun(ImportModel(model.model, "")).ShapeOf(0), (Shape{2, 3}));
}

TEST(Import, SlicesConstants) {
  const auto slice = [](int64_t start, int64_t end, int64_t step) {
    OnnxModel model;
    model.Input("x", {1, 1}).Floats("c", {4}, {1, 2, 3, 4}).Integers("s", {start});
    model.Integers("e", {end}).Integers("a", {0}).Integers("d", {step});
    model.Node("Slice", {"c", "s", "e", "a", "d"}, {"part"}).Node("Add", {"x", "part"}, {"y"});
    return model;
  };
  // The sum with a constant of another size shows the size in its message.
  const auto size = [&](int64_t start, int64_t end, int64_t step) {
    return ImportMistake(slice(start, end, step).Output("y"));
  };
  EXPECT_THAT(size(1, 3, 1), HasSubstr("broadcast 2 to 1x1"));
  EXPECT_THAT(size(-1, -100, -1), HasSubstr("broadcast 4 to 1x1"));
  EXPECT_THAT(size(0, 100, 3), HasSubstr("broadcast 2 to 1x1"));
  EXPECT_THAT(size(0, 4, 0), HasSubstr("its step is 0"));
  EXPECT_THAT(Result(slice(2, 3, 1).Output("y"), {10}), ElementsAre(13));
}

TEST(Import, EnlargesImages) {
  OnnxModel nearest = One("Resize", {1, 1, 1, 2}, {"", "scales"});
  nearest.Floats("scales", {4}, {1, 1, 2, 2}).Text("coordinate_transformation_mode", "asymmetric");
  nearest.Text("nearest_mode", "floor");
  EXPECT_THAT(Result(nearest, {1, 2}), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
  OnnxModel linear = One("Resize", {1, 1, 1, 2}, {"", "", "sizes"});
  linear.Integers("sizes", {1, 1, 1, 3}).Text("mode", "linear");
  EXPECT_THAT(ImportMistake(linear), HasSubstr("this is mode 'linear', coordinates 'half_pixel'"));
  linear.Text("coordinate_transformation_mode", "align_corners");
  EXPECT_THAT(Result(linear, {1, 2}), ElementsAre(1, 1.5f, 2));
}

TEST(Import, RefusesANodeWithoutNameAndOutput) {
  OnnxModel model;
  model.Input("x", {1}).Node("Relu", {"x"}, {});
  model.model.mutable_graph()->mutable_node(0)->clear_name();
  EXPECT_THAT(ImportMistake(model), HasSubstr("node 'Relu' (Relu): it has no output"));
}

TEST(Import, NamesAllNodesThatItHasNot) {
  OnnxModel model;
  model.Input("x", {1, 2})
      .Node("Erf", {"x"}, {"a"})
      .Node("Relu", {"a"}, {"behind"})
      .Node("Relu", {"x"}, {"b"})
      .Int("wrong", 1)
      .Node("Concat", {"behind", "b"}, {"y"})
      .Output("y");
  EXPECT_THAT(ImportMistake(model),
              AllOf(HasSubstr("node 'a_node' (Erf): Doppio has no layer for this operator"),
                    HasSubstr("node 'b_node' (Relu): Doppio does not know its attribute 'wrong'"),
                    testing::Not(HasSubstr("behind"))));
}

TEST(Import, RejectsHostileModels) {
  EXPECT_THAT(ImportMistake(OnnxModel()), HasSubstr("no graph with nodes"));
  EXPECT_THAT(ImportMistake(One("Relu", {1, 2}, {}, 3)), HasSubstr("the model has opset 3"));
  EXPECT_THAT(ImportMistake(One("Relu", {1, 0})),
              HasSubstr("axis 1 of the input 'x' has no fixed extent"));
  EXPECT_THAT(ImportMistake(One("Relu", {1, int64_t{1} << 40, int64_t{1} << 40})),
              HasSubstr("the input 'x' is 1x1099511627776x1099511627776"));
  EXPECT_THAT(ImportMistake(One("Add", {1, 2}, {"none"})),
              HasSubstr("no earlier node and no constant is its input 'none'"));
  EXPECT_THAT(ImportMistake(One("Conv", {1, 1, 4, 4}, {"w"}).Floats("w", {1, 1, 2, 2}, {1, 2, 3})),
              HasSubstr("the constant 'w' of 1x1x2x2 has 3 elements"));
  EXPECT_THAT(ImportMistake(One("Conv", {1, 1, 4, 4}, {"w"}).Floats("w", {1, 3, 1, 1}, {1, 2, 3})),
              HasSubstr("as a layer Convolution it does not fit"));
  EXPECT_THAT(
      ImportMistake(
          One("Conv", {1, 1, 4, 4}, {"w"}).Floats("w", {1, 1, 1, 1}, {1}).Ints("pads", {-1})),
      HasSubstr("its attribute 'pads' needs 4 numbers, at least 0"));
  EXPECT_THAT(ImportMistake(One("Reshape", {1, 4}, {"s"}).Integers("s", {1, 3})),
              HasSubstr("it makes 1x3 of 1x4"));
  EXPECT_THAT(ImportMistake(One("ConstantOfShape", {1, 4})), HasSubstr("Doppio has no layer"));
  OnnxModel outside = One("Add", {1, 2}, {"c"});
  onnx::TensorProto* const tensor = outside.model.mutable_graph()->add_initializer();
  tensor->set_name("c");
  tensor->add_dims(2);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto* const entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("../../etc/passwd");
  EXPECT_THAT(ImportMistake(outside), HasSubstr("which is not in the folder of the model"));
  entry->set_value("none.data");
  EXPECT_THAT(ImportMistake(outside),
              HasSubstr("cannot read the constant 'c' from 'none.data', 8 bytes"));
}

TEST(Import, ReadsEveryPrecision) {
  struct Case {
    onnx::TensorProto::DataType type;
    std::string bytes;
  };
  const Case cases[] = {
      {onnx::TensorProto::FLOAT, std::string("\0\0\xc0\x3f", 4)},
      {onnx::TensorProto::DOUBLE, std::string("\0\0\0\0\0\0\xf8\x3f", 8)},
      {onnx::TensorProto::FLOAT16, std::string("\0\x3e", 2)},
      {onnx::TensorProto::BFLOAT16, std::string("\xc0\x3f", 2)},
  };
  for (const Case& c : cases) {
    OnnxModel model = One("Mul", {1, 1}, {"c"});
    onnx::TensorProto* const tensor = model.model.mutable_graph()->add_initializer();
    tensor->set_name("c");
    tensor->set_data_type(c.type);
    tensor->set_raw_data(c.bytes);
    EXPECT_THAT(Result(model, {2}), ElementsAre(3)) << c.type;
  }
}

TEST(Import, ListsItsOperatorsInTheManual) {
  const std::string manual = ReadFile("docs/import.md");
  for (const std::string& op : OnnxImports::Get().Names())
    EXPECT_THAT(manual, testing::ContainsRegex("[ |]" + op + "[ ,]"));
}

}  // namespace
}  // namespace doppio

// Tests what models of ViT, Swin, ConvNeXt and MaxViT need: values whose samples move between axes,
// constants beside computed values, windows, and operators of several nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/tools/onnx_import/onnx_model.h"
#include "tools/onnx_import/sample_place.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

// Returns the first output of the net for `batch` samples.
Values ResultOf(const OnnxModel& model, int batch, const Values& x) {
  ImportedNet imported = ImportModel(model.model, "");
  imported.net.mutable_layer(0)->mutable_input_param()->mutable_shape(0)->set_dim(0, batch);
  return ImportedRun(imported).Run({{"x", x}});
}

Values Counted(int count) {
  Values values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST(SamplePlace, FollowsReshapesExactlyWithTwoSamples) {
  // 2 samples of 4 x 3 x 5 become 16 windows, and windows become samples.
  const SamplePlace windows = ReshapedPlace({0, 2, 1}, {2, 4, 3, 5}, {8, 3, 5});
  EXPECT_EQ(windows.axis, 0);
  EXPECT_EQ(windows.minor, 4);
  const SamplePlace back = ReshapedPlace(windows, {8, 3, 5}, {2, 4, 15});
  EXPECT_TRUE(back.is_plain());
  // The heads of an attention whose samples lie along axis 1.
  const SamplePlace heads = ReshapedPlace({1, 2, 1}, {7, 2, 6}, {7, 4, 3});
  EXPECT_EQ(heads.axis, 1);
  EXPECT_EQ(heads.minor, 2);
  const SamplePlace rows = ReshapedPlace(heads, {7, 4, 3}, {14, 6});
  EXPECT_EQ(rows.axis, 0);
  EXPECT_EQ(rows.minor, 1);
  // No axis holds both samples.
  EXPECT_FALSE(ReshapedPlace({0, 2, 1}, {2, 3}, {3, 2}).known());
}

TEST(SamplePlace, GuessesWithOneSample) {
  EXPECT_EQ(ReshapedPlace({1, 1, 1}, {7, 1, 6}, {7, 2, 3}).axis, 1);  // the axis of before
  EXPECT_EQ(ReshapedPlace({1, 1, 2}, {7, 2, 3}, {7, 6}).axis, 0);     // rows
  EXPECT_EQ(ReshapedPlace({0, 1, 1}, {7, 6}, {7, 1, 6}).axis, 1);     // the axis of extent 1
  EXPECT_EQ(ReshapedPlace({0, 1, 1}, {1, 8}, {1, 2, 4}).axis, 0);
  EXPECT_FALSE(ReshapedPlace({-1, 1, 1}, {1, 8}, {1, 2, 4}).known());
  EXPECT_FALSE(ReshapedPlace({0, 0, 1}, {0, 8}, {0, 2, 4}).known());
}

// Transposes samples to axis 1, splits heads, and goes back over rows, as PyTorch's attention does.
OnnxModel Heads(int64_t batch) {
  OnnxModel model;
  model.Input("x", {batch, 3, 4}).Node("Transpose", {"x"}, {"t"}).Ints("perm", {1, 0, 2});
  const int64_t n = batch == 0 ? 1 : batch;
  if (batch > 0) {
    model.Integers("heads", {3, n * 2, 2}).Integers("rows", {3 * n, 4}).Integers("back", {3, n, 4});
  } else {
    model.Node("Shape", {"x"}, {"shape"})
        .Integers("at", {0})
        .Node("Gather", {"shape", "at"}, {"n"});
    model.Integers("one", {1}).Integers("two", {2}).Integers("three", {3}).Integers("four", {4});
    model.Node("Mul", {"n", "two"}, {"n2"}).Node("Mul", {"n", "three"}, {"n3"});
    model.Node("Concat", {"three", "n2", "two"}, {"heads"}).Int("axis", 0);
    model.Node("Concat", {"n3", "four"}, {"rows"}).Int("axis", 0);
    model.Node("Concat", {"three", "n", "four"}, {"back"}).Int("axis", 0);
  }
  model.Node("Reshape", {"t", "heads"}, {"h"})
      .Node("Transpose", {"h"}, {"p"})
      .Ints("perm", {1, 0, 2});
  model.Node("Softmax", {"p"}, {"s"}).Node("Transpose", {"s"}, {"q"}).Ints("perm", {1, 0, 2});
  model.Node("Reshape", {"q", "rows"}, {"r"}).Floats("w", {4, 4}, Counted(16));
  model.Node("Gemm", {"r", "w"}, {"g"}).Node("Reshape", {"g", "back"}, {"b"});
  model.Node("Transpose", {"b"}, {"y"}).Ints("perm", {1, 0, 2}).Output("y");
  return model;
}

TEST(Import, KeepsSamplesApartInEveryBatch) {
  Values two(24);
  for (size_t i = 0; i < two.size(); ++i) two[i] = std::sin(static_cast<float>(i));
  for (const int64_t batch : {0, 1, 2}) {
    const OnnxModel model = Heads(batch);
    Values expected;
    for (int sample = 0; sample < 2; ++sample) {
      const Values y =
          ResultOf(model, 1, Values(two.begin() + 12 * sample, two.begin() + 12 * (sample + 1)));
      expected.insert(expected.end(), y.begin(), y.end());
    }
    EXPECT_THAT(ResultOf(model, 2, two), Pointwise(FloatNear(1e-5f), expected)) << batch;
  }
}

TEST(Import, StaysWithOneSampleWhereTheModelHasOne) {
  // The shape of the constant is that of a single sample, although the batch is open.
  OnnxModel model;
  model.Input("x", {0, 2})
      .Integers("to", {1, 2, 1})
      .Node("Reshape", {"x", "to"}, {"y"})
      .Output("y");
  EXPECT_THAT(Result(model, {3, 4}), ElementsAre(3, 4));
}

TEST(Import, PutsAClassTokenBeforeEachSample) {
  OnnxModel model;
  model.Input("x", {0, 2, 2}).Floats("token", {1, 1, 2}, {7, 8});
  model.Node("Shape", {"x"}, {"shape"}).Integers("at", {0}).Node("Gather", {"shape", "at"}, {"n"});
  model.Integers("rest", {-1, -1}).Node("Concat", {"n", "rest"}, {"to"}).Int("axis", 0);
  model.Integers("none", {-1}).Node("Equal", {"to", "none"}, {"open"}).Integers("one", {1});
  model.Node("Where", {"open", "one", "to"}, {"size"})
      .Node("Expand", {"token", "size"}, {"tokens"});
  model.Node("Concat", {"tokens", "x"}, {"y"}).Int("axis", 1).Output("y");
  EXPECT_THAT(ResultOf(model, 1, {1, 2, 3, 4}), ElementsAre(7, 8, 1, 2, 3, 4));
  EXPECT_THAT(ResultOf(model, 2, {1, 2, 3, 4, -1, -2, -3, -4}),
              ElementsAre(7, 8, 1, 2, 3, 4, 7, 8, -1, -2, -3, -4));
  // A training changes the token, but not zeros that a Pad adds.
  const auto frozen = [](const OnnxModel& of) {
    const ImportedNet imported = ImportModel(of.model, "");
    for (const LayerParameter& layer : imported.net.layer()) {
      if (layer.type() == "InnerProduct")
        return layer.param_size() == 1 && layer.param(0).lr_mult() == 0;
    }
    return false;
  };
  EXPECT_FALSE(frozen(model));
  OnnxModel pad = One("Pad", {1, 2, 2}, {"pads"});
  pad.Integers("pads", {0, 1, 0, 0, 0, 1});
  EXPECT_THAT(Result(pad, {1, 2, 3, 4}), ElementsAre(0, 0, 0, 1, 2, 0, 3, 4, 0));
  EXPECT_TRUE(frozen(pad));
}

TEST(Import, RefusesConstantsThatDifferBetweenSamples) {
  OnnxModel beside;
  beside.Input("x", {2, 1}).Floats("c", {2, 1}, {1, 2}).Node("Concat", {"c", "x"}, {"y"});
  beside.Int("axis", 1).Output("y");
  EXPECT_THAT(ImportMistake(beside), HasSubstr("node 'y_node' (Concat): its constant differs"));
  OnnxModel above;
  above.Input("x", {2, 1}).Floats("c", {2, 1}, {1, 1}).Node("Concat", {"c", "x"}, {"y"});
  above.Int("axis", 0).Output("y");
  EXPECT_THAT(ImportMistake(above),
              HasSubstr("only beside values whose axis 0 is that of the samples"));
}

TEST(Import, GathersElementsOfAnAxis) {
  const auto gather = [](const std::vector<int64_t>& rows) {
    OnnxModel model = One("Gather", {1, 4, 2}, {"rows"});
    return model.Integers("rows", rows).Int("axis", 1);
  };
  const Values x = Counted(8);
  EXPECT_THAT(Result(gather({-1}), x), ElementsAre(7, 8));
  EXPECT_THAT(Result(gather({1, 2}), x), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(Result(gather({1, 3}), x), ElementsAre(3, 4, 7, 8));
  EXPECT_THAT(Result(gather({2, 0, 2}), x), ElementsAre(5, 6, 1, 2, 5, 6));
  EXPECT_THAT(ImportMistake(gather({4})), HasSubstr("there is no element 4 on axis 1"));
}

TEST(Import, SlicesWithSteps) {
  const auto slice = [](int64_t start, int64_t end, int64_t step, int64_t extent) {
    OnnxModel model = One("Slice", {1, extent}, {"s", "e", "a", "d"});
    model.Integers("s", {start}).Integers("e", {end}).Integers("a", {1}).Integers("d", {step});
    return Result(model, Counted(static_cast<int>(extent)));
  };
  EXPECT_THAT(slice(0, INT64_MAX, 2, 6), ElementsAre(1, 3, 5));
  EXPECT_THAT(slice(1, INT64_MAX, 2, 6), ElementsAre(2, 4, 6));
  EXPECT_THAT(slice(0, INT64_MAX, 2, 5), ElementsAre(1, 3, 5));
  EXPECT_THAT(slice(2, INT64_MAX, 3, 7), ElementsAre(3, 6));
  EXPECT_THAT(slice(-1, INT64_MIN, -1, 3), ElementsAre(3, 2, 1));
  EXPECT_THAT(slice(1, 3, 1, 5), ElementsAre(2, 3));
}

TEST(Import, ComputesEinsumAsProductsOfMatrices) {
  const auto einsum = [](const std::string& equation, const std::vector<int64_t>& a,
                         const std::vector<int64_t>& b) {
    OnnxModel model;
    model.Input("x", a).Input("z", b).Node("Einsum", {"x", "z"}, {"y"}).Text("equation", equation);
    return model.Output("y");
  };
  const auto run = [](const OnnxModel& model, const Values& x, const Values& z) {
    return ImportedRun(ImportModel(model.model, "")).Run({{"x", x}, {"z", z}});
  };
  const OnnxModel scores = einsum("B I D, B J D -> B I J", {1, 2, 2}, {1, 2, 2});
  EXPECT_EQ(Types(scores), "MatMul");
  EXPECT_THAT(run(scores, {1, 2, 3, 4}, {5, 6, 7, 8}), ElementsAre(17, 23, 39, 53));
  EXPECT_THAT(run(einsum("bij,bjd->bid", {1, 2, 2}, {1, 2, 1}), {1, 2, 3, 4}, {5, 6}),
              ElementsAre(17, 39));
  // Two axes are summed up, one of which comes in another order, and the result is transposed.
  EXPECT_THAT(run(einsum("nab,ban->n", {1, 2, 2}, {2, 2, 1}), {1, 2, 3, 4}, {5, 6, 7, 8}),
              ElementsAre(5 + 14 + 18 + 32));
  EXPECT_THAT(run(einsum("nk,km->mn", {2, 1}, {1, 2}), {2, 3}, {5, 7}),
              ElementsAre(10, 15, 14, 21));
  for (const char* equation : {"ii,ij->ij", "ij,jk->i", "ij->ji", "...i,...i->...", "ij,jk"}) {
    EXPECT_THAT(ImportMistake(einsum(equation, {1, 1}, {1, 1})),
                HasSubstr("Doppio computes Einsum of"))
        << equation;
  }
  EXPECT_THAT(ImportMistake(einsum("ijk,jk->ij", {1, 1}, {1, 1})), HasSubstr("its input 0 is 1x1"));
}

TEST(Import, RepeatsConstantsOverAxesBetween) {
  // The mask of windows: it varies along the axes 1 and 3, but not along that of the heads.
  OnnxModel model = One("Add", {1, 2, 2, 2}, {"mask"});
  model.Floats("mask", {1, 2, 1, 2}, {0, -100, 10, 20});
  EXPECT_THAT(Result(model, Counted(8)), ElementsAre(1, -98, 3, -96, 15, 26, 17, 28));
  const LayerParameter bias = ImportModel(model.model, "").net.layer(1);
  EXPECT_EQ(bias.type(), "Bias");
  EXPECT_EQ(bias.param(0).lr_mult(), 0);  // heads would learn different masks
  OnnxModel wrong = One("Add", {1, 2, 2, 2}, {"mask"});
  wrong.Floats("mask", {3, 1, 1}, {0, 1, 2});
  EXPECT_THAT(ImportMistake(wrong), HasSubstr("does not broadcast 3x1x1 to 1x2x2x2"));
}

TEST(Import, ChoosesByConstantConditions) {
  OnnxModel blob_first = One("Identity", {1, 3});
  blob_first.Floats("c", {1, 1}, {-9})
      .Integers("m", {1, 0, 1})
      .Node("Where", {"m", "x", "c"}, {"z"});
  blob_first.model.mutable_graph()->mutable_output(0)->set_name("z");
  EXPECT_THAT(Result(blob_first, {1, 2, 3}), ElementsAre(1, -9, 3));
  OnnxModel constant_first = One("Identity", {1, 3});
  constant_first.Floats("c", {3}, {4, 5, -INFINITY}).Integers("m", {0, 1, 1});
  constant_first.Node("Where", {"m", "c", "x"}, {"z"});
  constant_first.model.mutable_graph()->mutable_output(0)->set_name("z");
  EXPECT_THAT(Result(constant_first, {1, 2, 3}), ElementsAre(1, 5, -INFINITY));
  OnnxModel both = One("Neg", {1, 3});
  both.Integers("m", {0, 1, 0}).Node("Where", {"m", "x", "y"}, {"z"});
  both.model.mutable_graph()->mutable_output(0)->set_name("z");
  EXPECT_THAT(Result(both, {1, 2, 3}), ElementsAre(-1, 2, -3));
}

// The sum of x, which is 0, and a constant that `op` computes.
Values Folded(OnnxModel model, const std::string& op, const std::vector<std::string>& inputs,
              const std::vector<int64_t>& dims) {
  model.Input("x", dims).Node(op, inputs, {"c"}).Node("Add", {"x", "c"}, {"y"}).Output("y");
  return Result(model, Values(static_cast<size_t>(Shape(dims).count()), 0));
}

TEST(Import, ComputesConstantsOfWindows) {
  const auto integers = [](const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    OnnxModel model;
    return model.Integers("a", a).Integers("b", b);
  };
  EXPECT_THAT(Folded(integers({7, -7, 8}, {4}), "Mod", {"a", "b"}, {1, 3}), ElementsAre(3, 1, 0));
  OnnxModel zero = integers({7}, {0});
  zero.Input("x", {1}).Node("Mod", {"a", "b"}, {"c"}).Node("Add", {"x", "c"}, {"y"}).Output("y");
  EXPECT_THAT(ImportMistake(zero), HasSubstr("it divides by 0"));
  EXPECT_THAT(Folded(integers({2, 3}, {3}), "Pow", {"a", "b"}, {1, 2}), ElementsAre(8, 27));
  EXPECT_THAT(Folded(integers({2, 0}, {}), "Not", {"a"}, {1, 2}), ElementsAre(0, 1));
  OnnxModel floats;
  floats.Floats("a", {2, 3}, Counted(6));
  EXPECT_THAT(Folded(floats, "Transpose", {"a"}, {3, 2}), ElementsAre(1, 4, 2, 5, 3, 6));
  OnnxModel root;
  root.Floats("a", {1, 2}, {4, 9});
  EXPECT_THAT(Folded(root, "Sqrt", {"a"}, {1, 2}), ElementsAre(2, 3));
}

TEST(Import, WritesPartsOfConstants) {
  const auto scatter = [](int64_t row) {
    OnnxModel model;
    model.Floats("a", {3, 2}, Counted(6)).Integers("at", {row}).Floats("new", {2}, {-1, -2});
    return model;
  };
  EXPECT_THAT(Folded(scatter(-2), "ScatterND", {"a", "at", "new"}, {3, 2}),
              ElementsAre(1, 2, -1, -2, 5, 6));
  OnnxModel wrong = scatter(3);
  wrong.Input("x", {3, 2})
      .Node("ScatterND", {"a", "at", "new"}, {"c"})
      .Node("Add", {"x", "c"}, {"y"});
  EXPECT_THAT(ImportMistake(wrong.Output("y")), HasSubstr("there is no element 3"));
}

TEST(Import, LeavesOutDropoutOfNothing) {
  OnnxModel model = One("Dropout", {1, 2}, {"ratio"});
  model.Floats("ratio", {}, {0}).Node("Relu", {"y"}, {"z"}).Output("z");
  EXPECT_EQ(Types(model), "ReLU");
}

// LayerNorm as exporters write it before opset 17.
OnnxModel OldLayerNorm(bool square_by_product, bool differences_are_read) {
  OnnxModel model;
  model.Input("x", {1, 2, 2}).Floats("two", {}, {2}).Floats("eps", {}, {1e-5f});
  model.Floats("w", {2}, {1, 10}).Floats("b", {2}, {0, 5});
  model.Node("ReduceMean", {"x"}, {"m"}).Ints("axes", {-1}).Node("Sub", {"x", "m"}, {"d"});
  model.Node(square_by_product ? "Mul" : "Pow", {"d", square_by_product ? "d" : "two"}, {"s"});
  model.Node("ReduceMean", {"s"}, {"v"}).Ints("axes", {-1}).Node("Add", {"v", "eps"}, {"e"});
  model.Node("Sqrt", {"e"}, {"r"}).Node("Div", {"d", "r"}, {"q"}).Node("Mul", {"q", "w"}, {"p"});
  model.Node("Add", {"p", "b"}, {"y"}).Output("y");
  if (differences_are_read) model.Node("Relu", {"d"}, {"other"}).Output("other");
  return model;
}

TEST(Import, FindsLayerNormOfSeveralNodes) {
  const Values x = {1, 3, 5, 5};
  for (const bool product : {false, true}) {
    EXPECT_EQ(Types(OldLayerNorm(product, false)), "LayerNorm");
    EXPECT_THAT(Result(OldLayerNorm(product, false), x),
                Pointwise(FloatNear(1e-4f), Values{-1, 15, 0, 5}));
    // Another reader of a value between keeps all nodes, and the numbers are the same.
    EXPECT_THAT(Types(OldLayerNorm(product, true)), HasSubstr("Reduction"));
    EXPECT_THAT(Result(OldLayerNorm(product, true), x),
                Pointwise(FloatNear(1e-4f), Values{-1, 15, 0, 5}));
  }
}

}  // namespace
}  // namespace doppio

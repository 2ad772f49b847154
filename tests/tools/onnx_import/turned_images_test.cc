// Tests the import of models that hold images with channels last, as Keras's do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/onnx_import/onnx_model.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An image of 2x2 pixels with three channels, as Keras's models hold it. Channel c of pixel p is
// 10 c + p, without the scale and the shift.
const std::vector<int64_t> kKerasImage = {1, 2, 2, 3};

OnnxModel OfKeras() {
  OnnxModel model;
  model.Input("x", kKerasImage).Floats("by", {3}, {1, 2, 1}).Floats("plus", {}, {1});
  model.Integers("pads", {0, 1, 0, 0, 0, 0, 1, 0}).Floats("w", {1, 3, 1, 1}, {1, 1, 0.5f});
  return model;
}

TEST(Import, HoldsImagesOfKerasWithChannelsFirst) {
  OnnxModel model = OfKeras();
  model.Node("Mul", {"x", "by"}, {"scaled"})
      .Node("Add", {"scaled", "plus"}, {"shifted"})
      .Node("Transpose", {"shifted"}, {"first"})
      .Ints("perm", {0, 3, 1, 2})
      .Node("Relu", {"first"}, {"relu"})
      .Node("Transpose", {"relu"}, {"last"})
      .Ints("perm", {0, 2, 3, 1})
      .Node("Add", {"last", "last"}, {"twice"})
      .Node("Pad", {"twice", "pads"}, {"padded"})
      .Node("Transpose", {"padded"}, {"again"})
      .Ints("perm", {0, 3, 1, 2})
      .Node("Conv", {"again", "w"}, {"y"})
      .Output("y");
  EXPECT_EQ(Types(model), "Scale Power ReLU Eltwise Convolution");
  const ImportedNet imported = ImportModel(model.model, "");
  EXPECT_THAT(imported.turned_inputs, ElementsAre("x"));
  EXPECT_EQ(imported.net.layer(0).input_param().shape(0).dim(1), 3);
  ImportedRun run(imported);
  // 2 (p + 1) + 2 (20 + 2 p + 1) + (20 + p + 1) = 65 + 7 p, with a row of zeros above and a column
  // of zeros at the right.
  EXPECT_THAT(run.Run({{"x", {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}}}),
              ElementsAre(0, 0, 0, 65, 72, 0, 79, 86, 0));
  EXPECT_EQ(run.ShapeOf(0), (Shape{1, 1, 3, 3}));
}

TEST(Import, TurnsWhereTheModelsOrderMatters) {
  // The sum over the last axis, and the image itself, need channels last.
  OnnxModel model = OfKeras();
  model.Node("Transpose", {"x"}, {"first"}).Ints("perm", {0, 3, 1, 2});
  model.Node("Transpose", {"first"}, {"last"}).Ints("perm", {0, 2, 3, 1});
  model.Node("Sigmoid", {"first"}, {"s"}).Node("Transpose", {"s"}, {"s_last"});
  model.Ints("perm", {0, 2, 3, 1}).Integers("axes", {-1});
  model.Node("ReduceSum", {"last", "axes"}, {"sum"}).Int("keepdims", 0);
  model.Output("sum").Output("last").Output("s_last");
  const ImportedNet imported = ImportModel(model.model, "");
  ImportedRun run(imported);
  const Values x = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
  EXPECT_THAT(run.Run({{"x", x}}), ElementsAre(30, 33, 36, 39));
  EXPECT_THAT(run.Run({{"x", x}}, 1), ElementsAre(0, 10, 20, 1, 11, 21, 2, 12, 22, 3, 13, 23));
  EXPECT_EQ(run.ShapeOf(1), (Shape{1, 2, 2, 3}));
  EXPECT_EQ(run.ShapeOf(2), (Shape{1, 2, 2, 3}));
  // One Permute serves both readers of `last`.
  EXPECT_EQ(Types(model), "Sigmoid Permute Reduction Permute");
}

TEST(Import, PoolsImagesOfKeras) {
  for (const int64_t keep : {0, 1}) {
    OnnxModel model = OfKeras();
    model.Node("Transpose", {"x"}, {"first"}).Ints("perm", {0, 3, 1, 2});
    model.Node("Relu", {"first"}, {"relu"});
    model.Node("Transpose", {"relu"}, {"last"}).Ints("perm", {0, 2, 3, 1});
    model.Node("ReduceMean", {"last"}, {"mean"}).Ints("axes", {1, 2}).Int("keepdims", keep);
    // An attention of each channel, if the axes are kept.
    model.Node("Mul", {keep == 1 ? "last" : "mean", "mean"}, {"y"}).Output("y");
    ImportedRun run(ImportModel(model.model, ""));
    const Values y = run.Run({{"x", {0, 1, 2, 5, 4, 4, 4, 4, 1, 1, 1, 1}}});
    if (keep == 0) {
      EXPECT_THAT(y, ElementsAre(4, 16, 1));
    } else {
      EXPECT_THAT(y, ElementsAre(0, 16, 1, 2, 16, 1, 4, 16, 1, 10, 16, 1));
      EXPECT_EQ(run.ShapeOf(0), (Shape{1, 2, 2, 3}));
    }
  }
}

TEST(Import, KeepsTheOrderOfOtherInputs) {
  // x is also read as it is, so that it stays N x H x W x C.
  OnnxModel model = OfKeras();
  model.Node("Transpose", {"x"}, {"first"}).Ints("perm", {0, 3, 1, 2});
  model.Node("Softmax", {"x"}, {"y"}).Output("first").Output("y");
  const ImportedNet imported = ImportModel(model.model, "");
  EXPECT_THAT(imported.turned_inputs, ElementsAre());
  EXPECT_EQ(imported.net.layer(0).input_param().shape(0).dim(3), 3);
  // So does an input of Doppio's own nets, and one that no node transposes.
  OnnxModel own = One("Transpose", kKerasImage).Ints("perm", {0, 3, 1, 2});
  EXPECT_THAT(ImportModel(own.model, "").turned_inputs, ElementsAre("x"));
  own.model.set_producer_name("doppio");
  EXPECT_THAT(ImportModel(own.model, "").turned_inputs, ElementsAre());
  OnnxModel plain = One("Mul", kKerasImage, {"by"});
  EXPECT_THAT(ImportModel(plain.Floats("by", {3}, {1, 2, 1}).model, "").turned_inputs,
              ElementsAre());
  // A constant that varies along two axes is not turned, so the image is.
  OnnxModel two = OfKeras();
  two.Floats("map", {2, 1, 3}, {1, 2, 3, 4, 5, 6}).Node("Mul", {"x", "map"}, {"m"});
  two.Node("Transpose", {"m"}, {"y"}).Ints("perm", {0, 3, 1, 2}).Output("y");
  EXPECT_EQ(Types(two), "Permute Scale Permute");
  EXPECT_THAT(Result(two, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
              ElementsAre(1, 2, 12, 16, 10, 12, 35, 40, 27, 30, 66, 72));
}

}  // namespace
}  // namespace doppio

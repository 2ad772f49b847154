#include <gtest/gtest.h>

#include "core/math/dnnl_isa.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Product(const std::string& param) {
  return LayerCase("type: 'InnerProduct' inner_product_param { " + param + " }");
}

TEST(InnerProduct, MultipliesByRowsOfWeights) {
  Product("num_output: 2")
      .Bottom({2, 3}, {1, 2, 3, 4, 5, 6})
      .Param(0, {1, 0, -1, 2, 2, 2})
      .Param(1, {0.5, -1})
      .ExpectTop({2, 2}, {-1.5, 11, -1.5, 29})
      .ExpectBottomGradient({1, 0, 0, 1}, {1, 0, -1, 2, 2, 2});
  Product("num_output: 2 bias_term: false")
      .Bottom({1, 3}, {1, 2, 3})
      .Param(0, {1, 0, -1, 2, 2, 2})
      .ExpectTop({1, 2}, {-2, 12});
}

TEST(InnerProduct, MayKeepItsWeightsTransposed) {
  Product("num_output: 2 transpose: true")
      .Bottom({2, 3}, {1, 2, 3, 4, 5, 6})
      .Param(0, {1, 2, 0, 2, -1, 2})
      .Param(1, {0.5, -1})
      .ExpectTop({2, 2}, {-1.5, 11, -1.5, 29});
}

TEST(InnerProduct, SumsOverTheAxesFromItsOwnOn) {
  Product("num_output: 1 axis: 2")
      .Bottom({1, 2, 2}, {1, 2, 3, 4})
      .Param(0, {1, 10})
      .Param(1, {0})
      .ExpectTop({1, 2, 1}, {21, 43});
  Product("num_output: 1 axis: 0 bias_term: false")
      .Bottom({2, 2}, {1, 2, 3, 4})
      .Param(0, {1, 10, 100, 1000})
      .ExpectTop({1}, {4321});
  Product("num_output: 7 axis: -1").RandomBottom({3, 2, 5}).ExpectTopShape({3, 2, 7});
}

TEST(InnerProduct, StartsByItsFillers) {
  Product("num_output: 2 weight_filler { value: 2 } bias_filler { value: 1 }")
      .Bottom({1, 2}, {1, 2})
      .KeepFilledParams()
      .ExpectTop({1, 2}, {7, 7});
}

TEST_ON_DEVICES(InnerProduct, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* param :
       {"", "bias_term: false", "transpose: true", "transpose: true bias_term: false", "axis: 2",
        "axis: 0", "axis: 2 transpose: true"}) {
    for (const Shape& shape : {Shape{3, 5, 2, 1}, Shape{1, 2, 3}}) {
      Product("num_output: 3 " + std::string(param))
          .RandomBottom(shape)
          .ExpectGradient()
          .ExpectBackendsAgree();
    }
    // The channels fill whole blocks or a part of one.
    for (const Shape& shape : {Shape{3, 16, 3, 2}, Shape{1, 19, 2, 3}, Shape{3, 8, 5}}) {
      Product("num_output: 17 " + std::string(param)).RandomBottom(shape).ExpectBackendsAgree();
    }
  }
  LayerCase c = Product("num_output: 20");
  c.RandomBottom({3, 16, 2, 2}).ExpectBackendsAgree();
  EXPECT_EQ(c.Engine(), "onednn");
  c.ExpectGpuKernel();
  c.ExpectNarrowOnGpu();
  // An image of a single pixel has the same memory layout for any order of its axes.
  LayerCase pixels = Product("num_output: 5");
  pixels.RandomBottom({3, 16, 1, 1}).ExpectBackendsAgree();
  pixels.ExpectNarrowOnGpu();
  Product("num_output: 1").RandomBottom({1, 1}).ExpectGradient().ExpectBackendsAgree();
}

// With many rows, oneDNN multiplies 16-bit factors. From 64 rows on, so does the gradient of the
// weights.
TEST_ON_DEVICES(InnerProduct, AgreesIn16BitsWithManyRows) {
  for (const char* param : {"", "bias_term: false", "transpose: true"}) {
    for (const Shape& shape : {Shape{8, 19, 2, 3}, Shape{9, 16, 3, 2}, Shape{65, 70}}) {
      for (const int outputs : {1, 17, 80}) {
        Product("num_output: " + std::to_string(outputs) + " " + param)
            .RandomBottom(shape)
            .ExpectBackendsAgree();
      }
    }
  }
}

TEST(InnerProduct, MultipliesIn16BitsWhereTheCpuDoesAndItPays) {
  const bool multiplies = WhyNoDnnlProducts(DType::kBFloat16).empty();
  for (const int rows : {7, 8, 100}) {
    for (const char* param : {"", "transpose: true"}) {
      LayerCase c = Product("num_output: 20 " + std::string(param));
      c.RandomBottom({rows, 40});
      EXPECT_EQ(c.NarrowOnCpu(), multiplies && rows >= 8) << rows;
    }
  }
  // Without backward, forward alone must save the time for rounding the weights.
  for (const int rows : {63, 64}) {
    LayerCase c = Product("num_output: 20");
    c.RandomBottom({rows, 40}).NoGradient();
    EXPECT_EQ(c.NarrowOnCpu(), multiplies && rows >= 64) << rows;
  }
}

TEST_ON_DEVICES(InnerProduct, MayFreezeEachParameter) {
  for (const char* param : {"param { lr_mult: 0 }", "param { lr_mult: 1 } param { lr_mult: 0 }",
                            "param { lr_mult: 0 } param { lr_mult: 0 }"}) {
    for (const int rows : {3, 10}) {
      LayerCase("type: 'InnerProduct' inner_product_param { num_output: 3 } " + std::string(param))
          .RandomBottom({rows, 5})
          .ExpectGradient()
          .ExpectBackendsAgree();
    }
  }
}

TEST(InnerProduct, ExplainsMistakes) {
  Product("").RandomBottom({1, 2}).ExpectMistake({"num_output must be positive, found 0"});
  Product("num_output: 3000000000")
      .RandomBottom({1, 2})
      .ExpectMistake({"num_output", "found 3000000000"});
  Product("num_output: 1 axis: 2")
      .RandomBottom({1, 2})
      .ExpectMistake({"axis 2 does not exist", "1x2"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(MatMul, MultipliesMatrices) {
  LayerCase("type: 'MatMul'")
      .Bottom({2, 2}, {1, 2, 3, 4})
      .Bottom({2, 3}, {1, 0, 2, 0, 1, 3})
      .ExpectTop({2, 3}, {1, 2, 8, 3, 4, 18})
      .ExpectBottomGradient({1, 0, 0, 0, 0, 1}, {1, 0, 2, 3}, 0)
      .ExpectBottomGradient({1, 0, 0, 0, 0, 1}, {1, 0, 3, 2, 0, 4}, 1);
  LayerCase("type: 'MatMul' matmul_param { transpose_a: true transpose_b: true }")
      .Bottom({1, 2, 1}, {1, 10})
      .Bottom({1, 3, 2}, {1, 2, 3, 4, 5, 6})
      .ExpectTop({1, 1, 3}, {21, 43, 65});
}

TEST(MatMul, BroadcastsAlongTheBatch) {
  LayerCase("type: 'MatMul'")
      .Bottom({2, 1, 1, 1}, {2, 3})
      .Bottom({3, 1, 1}, {5, 7, 11})
      .ExpectTop({2, 3, 1, 1}, {10, 14, 22, 15, 21, 33})
      .ExpectBottomGradient({1, 1, 1, 1, 0, 0}, {23, 5}, 0)
      .ExpectBottomGradient({1, 1, 1, 1, 0, 0}, {5, 2, 2}, 1);
  // One matrix for all rows.
  LayerCase("type: 'MatMul'")
      .Bottom({2, 1, 2}, {1, 2, 3, 4})
      .Bottom({2, 1}, {10, 1})
      .ExpectTop({2, 1, 1}, {12, 34})
      .ExpectBottomGradient({1, 2}, {7, 10}, 1);
}

struct MatMulShapes {
  Shape a, b;  // the factors without transposition
};

// Exchanges the last two axes.
Shape Turned(const Shape& shape) {
  std::vector<int64_t> dims = shape.dims();
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return Shape(dims);
}

TEST_ON_DEVICES(MatMul, AgreesWithDifferencesAndInEveryPlan) {
  const std::vector<MatMulShapes> cases = {{{3, 4}, {4, 5}},
                                           {{2, 3, 4}, {2, 4, 5}},
                                           {{2, 3, 3, 4}, {2, 3, 4, 2}},
                                           {{2, 1, 3, 4}, {3, 4, 2}},
                                           {{2, 3, 1, 4}, {4, 5}},
                                           {{3, 4}, {2, 2, 4, 1}},
                                           {{2, 1, 2, 2, 3}, {1, 3, 1, 3, 2}},
                                           {{1, 7, 1}, {1, 1, 9}}};
  for (const MatMulShapes& one : cases) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        const std::string fields = std::string("transpose_a: ") + (a ? "true" : "false") +
                                   " transpose_b: " + (b ? "true" : "false");
        LayerCase c("type: 'MatMul' matmul_param { " + fields + " }");
        c.RandomBottom(a ? Turned(one.a) : one.a).RandomBottom(b ? Turned(one.b) : one.b);
        c.ExpectGradient().NarrowTolerance(8).ExpectBackendsAgree();
        c.ExpectGpuKernel().ExpectNarrowOnGpu();
      }
    }
  }
}

TEST(MatMul, ExplainsMistakes) {
  LayerCase("type: 'MatMul'")
      .RandomBottom({2, 3, 4})
      .RandomBottom({2, 5, 4})
      .ExpectMistake({"2x3x4", "2x5x4", "4 columns and 5 rows", "transpose_b"});
  LayerCase("type: 'MatMul'")
      .RandomBottom({2, 3, 4})
      .RandomBottom({3, 4, 5})
      .ExpectMistake({"2x3x4", "3x4x5", "equal or 1"});
  LayerCase("type: 'MatMul'")
      .RandomBottom({4})
      .RandomBottom({4, 5})
      .ExpectMistake({"bottom 0 has shape 4", "at least 2 axes"});
}

}  // namespace
}  // namespace doppio

// Tests LSTMUnit.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// c' = f c + i g and h' = o tanh(c'), with i = 1/4, f = 3/4, o = 1/2 and g = 3/5.
TEST(LSTMUnit, IsAStepOfLstmOnGivenGates) {
  const double ln3 = std::log(3.0), ln2 = std::log(2.0);
  LayerCase c("type: 'LSTMUnit'");
  c.Tops(2)
      .Bottom({1, 2, 1}, {0.6, 0.6})
      .Bottom({1, 2, 4}, {-ln3, ln3, 0, ln2, -ln3, ln3, 0, ln2})
      .Bottom({1, 2}, {1, 0})
      .ExpectTop({1, 2, 1}, {0.6, 0.15})
      .ExpectTop({1, 2, 1}, {std::tanh(0.6) / 2, std::tanh(0.15) / 2}, 1e-5, 1)
      .ExpectBottomGradient({1, 2}, {0.75, 0}, 0)
      // The factors of dc' are i' g, f' c, 0 and i g'. At the start of a sequence, that of f is 0.
      .ExpectBottomGradient(
          {1, 2}, {0.1875 * 0.6, 0.1875 * 0.6, 0, 0.25 * 0.64, 0.1875 * 1.2, 0, 0, 0.25 * 1.28}, 1);
}

TEST_ON_DEVICES(LSTMUnit, AgreesWithDifferencesAndOnEveryDevice) {
  for (const Shape& cells : {Shape{1, 3, 5}, Shape{1, 1, 1}}) {
    LayerCase c("type: 'LSTMUnit'");
    c.Tops(2).RandomBottom(cells).RandomBottom({1, cells[1], 4 * cells[2]}, -2, 2);
    c.Bottom({1, cells[1]}, cells[1] == 3 ? std::vector<double>{1, 0, 1} : std::vector<double>{1});
    c.ExpectGradient().ExpectBackendsAgree();
    c.ExpectGpuKernel();
  }
}

TEST(LSTMUnit, ExplainsMistakes) {
  const auto given = [](const Shape& cells, const Shape& gates, const Shape& cont) {
    LayerCase c("type: 'LSTMUnit'");
    return c.Tops(2).RandomBottom(cells).RandomBottom(gates).RandomBottom(cont);
  };
  given({2, 3, 5}, {2, 3, 20}, {2, 3}).ExpectMistake({"1 x streams x hidden", "is 2x3x5"});
  given({1, 3, 5}, {1, 3, 15}, {1, 3}).ExpectMistake({"gates 'b1' are 1x3x15", "1x3x20"});
  given({1, 3, 5}, {1, 3, 20}, {3}).ExpectMistake({"marks 'b2' are 3", "1x3"});
}

}  // namespace
}  // namespace doppio

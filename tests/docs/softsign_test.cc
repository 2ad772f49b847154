#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(Softsign, ComputesByHand) {
  LayerCase("type: 'Softsign'")
      .Bottom({2, 2}, {-3, 0, 1, 4})
      .ExpectTop({2, 2}, {-0.75, 0, 0.5, 0.8})
      .ExpectBottomGradient({1, 1, 1, 2}, {0.0625, 1, 0.25, 0.08});
}

TEST_ON_DEVICES(Softsign, AgreesWithDifferencesAndInEveryPlan) {
  for (const Shape& shape : {Shape{3, 5, 2, 1}, Shape{1, 7}, Shape{4}}) {
    // The second derivative jumps at 0.
    LayerCase("type: 'Softsign'")
        .RandomBottom(shape)
        .ExpectGradient(1e-4, 1e-5, 0)
        .ExpectBackendsAgree();
  }
}

TEST(Softsign, ExplainsMistakes) {
  LayerCase("type: 'Softsign'").Bottom({}, {1}).ExpectMistake({"at least one axis"});
}

}  // namespace
}  // namespace doppio

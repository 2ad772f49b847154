#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Of(const std::string& param, const std::vector<std::vector<double>>& bottoms) {
  LayerCase c("type: 'Eltwise' eltwise_param { " + param + " }");
  for (const std::vector<double>& values : bottoms)
    c.Bottom({1, static_cast<int64_t>(values.size())}, values);
  return c;
}

TEST(Eltwise, AddsByDefault) {
  Of("", {{1, 2}, {3, 4}}).ExpectTop({1, 2}, {4, 6}).ExpectBottomGradient({1, 2}, {1, 2}, 1);
  Of("", {{1, 2}, {3, 4}, {10, 20}}).ExpectTop({1, 2}, {14, 26});
}

TEST(Eltwise, AddsWithCoefficients) {
  Of("operation: SUM coeff: 2 coeff: -1 coeff: 0.5", {{1, 2}, {3, 4}, {10, 20}})
      .ExpectTop({1, 2}, {4, 10})
      .ExpectBottomGradient({1, 2}, {2, 4}, 0)
      .ExpectBottomGradient({1, 2}, {-1, -2}, 1)
      .ExpectBottomGradient({1, 2}, {0.5, 1}, 2);
}

TEST(Eltwise, Multiplies) {
  for (const char* stable : {"true", "false"}) {
    Of("operation: PROD stable_prod_grad: " + std::string(stable), {{1, 2}, {3, 4}, {5, 6}})
        .ExpectTop({1, 2}, {15, 48})
        .ExpectBottomGradient({1, 1}, {15, 24}, 0)
        .ExpectBottomGradient({1, 1}, {3, 8}, 2);
  }
}

TEST(Eltwise, HasStableGradientsAtZeroFactors) {
  Of("operation: PROD", {{0, 2}, {3, 0}})
      .ExpectBottomGradient({1, 1}, {3, 0}, 0)
      .ExpectBottomGradient({1, 1}, {0, 2}, 1);
}

TEST(Eltwise, GivesTiesToTheSecondOfTwoAndToTheEarlierAfterwards) {
  const std::vector<std::vector<double>> bottoms = {{1, 5, 2, 1}, {1, 3, 2, 1}, {0, 5, 2, 4}};
  Of("operation: MAX", bottoms)
      .ExpectTop({1, 4}, {1, 5, 2, 4})
      .ExpectBottomGradient({1, 2, 3, 4}, {0, 2, 0, 0}, 0)
      .ExpectBottomGradient({1, 2, 3, 4}, {1, 0, 3, 0}, 1)
      .ExpectBottomGradient({1, 2, 3, 4}, {0, 0, 0, 4}, 2);
}

TEST_ON_DEVICES(Eltwise, TakesOneBottomSeveralTimes) {
  // LayerCase appends its bottom b0 to the one written here, so the layer reads b0 twice.
  LayerCase("type: 'Eltwise' bottom: 'b0' eltwise_param { coeff: 2 coeff: 3 }")
      .Bottom({2}, {1, 2})
      .ExpectTop({2}, {5, 10})
      .ExpectBottomGradient({1, 10}, {5, 50});
  for (const char* operation : {"SUM", "PROD", "MAX"}) {
    LayerCase c(
        "type: 'Eltwise' bottom: 'b0' eltwise_param { operation: " + std::string(operation) + " }");
    c.RandomBottom({3, 5, 2, 1}).ExpectGradient().ExpectBackendsAgree();
    c.InPlace().ExpectGradient().ExpectBackendsAgree();
  }
}

TEST_ON_DEVICES(Eltwise, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* param : {"", "coeff: 0.5 coeff: -2 coeff: 1", "operation: PROD",
                            "operation: PROD stable_prod_grad: false", "operation: MAX"}) {
    LayerCase c("type: 'Eltwise' eltwise_param { " + std::string(param) + " }");
    for (int i = 0; i < 3; ++i) c.RandomBottom({3, 5, 2, 1}, 0.25, 1);
    c.ExpectGradient(1e-5).ExpectBackendsAgree();
    c.InPlace().ExpectGradient(1e-5).ExpectBackendsAgree();
    c.ExpectGpuKernel();
    c.ExpectNarrowOnGpu();
    c.ExpectNoGpuConversions();
  }
  LayerCase("type: 'Eltwise'")
      .RandomBottom({1, 3, 700})
      .RandomBottom({1, 3, 700})
      .InPlace()
      .ExpectBackendsAgree();
}

// The numbers of elements fill whole packs or leave a remainder.
TEST_ON_DEVICES(Eltwise, TakesAnyNumberOfElements) {
  for (const char* param : {"", "coeff: 0.5 coeff: -2", "operation: PROD", "operation: MAX"}) {
    for (const Shape& shape : {Shape{1, 8, 4}, Shape{3, 5, 7}, Shape{3, 16, 3, 1}}) {
      LayerCase c("type: 'Eltwise' eltwise_param { " + std::string(param) + " }");
      for (int i = 0; i < 2; ++i) c.RandomBottom(shape);
      c.ExpectBackendsAgree();
    }
  }
}

TEST_ON_DEVICES(Eltwise, LeavesOutBottomsThatDoNotLearn) {
  LayerCase(
      "type: 'Eltwise' propagate_down: false propagate_down: true eltwise_param { operation: PROD "
      "}")
      .RandomBottom({3, 2})
      .RandomBottom({3, 2})
      .InPlace()
      .ExpectBackendsAgree();
}

TEST(Eltwise, ExplainsMistakes) {
  Of("operation: PROD coeff: 1 coeff: 1", {{1}, {2}}).ExpectMistake({"coeff is for operation SUM"});
  Of("coeff: 1", {{1}, {2}}).ExpectMistake({"found 1 coeff for 2 bottoms"});
  Of("", {{1}}).ExpectMistake({"Eltwise takes"});
  Of("", {{1, 2}, {1}}).ExpectMistake({"bottom 1 has shape 1x1, bottom 0 has 1x2", "the same"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(Normalize, DividesSamplesByTheirNorm) {
  LayerCase("type: 'Normalize'")
      .Bottom({2, 2, 1, 2}, {1, 4, 4, 4, 0, 0, 3, 4})
      .KeepFilledParams()
      .ExpectParam(0, {1})
      .ExpectTop({2, 2, 1, 2}, {1 / 7.0, 4 / 7.0, 4 / 7.0, 4 / 7.0, 0, 0, 0.6, 0.8});
}

TEST(Normalize, DividesPositionsByTheNormOfTheirChannels) {
  LayerCase("type: 'Normalize' norm_param { across_spatial: false }")
      .Bottom({1, 2, 1, 2}, {3, 0, 4, 2})
      .Param(0, {10})
      .ExpectTop({1, 2, 1, 2}, {6, 0, 8, 10});
}

TEST(Normalize, HasOneFactorOrOneForEachChannel) {
  LayerCase("type: 'Normalize' norm_param { scale_filler { value: 20 } }")
      .Bottom({1, 2}, {3, 4})
      .KeepFilledParams()
      .ExpectTop({1, 2}, {12, 16});
  LayerCase("type: 'Normalize' norm_param { across_spatial: false channel_shared: false }")
      .Bottom({1, 2, 1, 2}, {3, 0, 4, 2})
      .Param(0, {2, 10})
      .ExpectTop({1, 2, 1, 2}, {1.2, 0, 8, 10});
}

TEST_ON_DEVICES(Normalize, AddsEpsToTheSquares) {
  LayerCase("type: 'Normalize' norm_param { eps: 9 }")
      .Bottom({1, 2}, {4, 0})
      .Param(0, {1})
      .ExpectTop({1, 2}, {0.8, 0})
      .ExpectBackendsAgree();
  LayerCase("type: 'Normalize'").Bottom({1, 2}, {0, 0}).ExpectTop({1, 2}, {0, 0});
}

TEST_ON_DEVICES(Normalize, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* across : {"true", "false"}) {
    for (const char* shared : {"true", "false"}) {
      for (const Shape& shape : {Shape{3, 5, 2, 3}, Shape{1, 3}, Shape{2, 3, 4}}) {
        LayerCase c("type: 'Normalize' norm_param { across_spatial: " + std::string(across) +
                    " channel_shared: " + shared + " }");
        c.RandomBottom(shape).ExpectTopShape(shape).ExpectGradient().ExpectBackendsAgree();
      }
    }
  }
}

TEST_ON_DEVICES(Normalize, HasAKernelForGpus) {
  for (const char* across : {"true", "false"}) {
    LayerCase c("type: 'Normalize' norm_param { channel_shared: false across_spatial: " +
                std::string(across) + " }");
    c.RandomBottom({2, 40, 7, 6}).ExpectBackendsAgree();
    c.ExpectGpuKernel();
  }
}

TEST(Normalize, ExplainsMistakes) {
  LayerCase("type: 'Normalize'").RandomBottom({3}).ExpectMistake({"shape 3", "at least 2 axes"});
  LayerCase("type: 'Normalize' norm_param { eps: -1 }")
      .RandomBottom({2, 3})
      .ExpectMistake({"eps is -1", "at least 0"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(PReLU, HasASlopeForEachChannel) {
  LayerCase("type: 'PReLU'")
      .Bottom({1, 2, 1, 2}, {-1, 2, -3, 4})
      .Param(0, {0.5, 0.25})
      .ExpectTop({1, 2, 1, 2}, {-0.5, 2, -0.75, 4})
      .ExpectBottomGradient({1, 2, 3, 4}, {0.5, 2, 0.75, 4});
}

TEST(PReLU, StartsAtAQuarter) {
  LayerCase("type: 'PReLU'")
      .Bottom({1, 2}, {-1, -2})
      .KeepFilledParams()
      .ExpectTop({1, 2}, {-0.25, -0.5});
  LayerCase("type: 'PReLU' prelu_param { filler { value: 2 } }")
      .Bottom({1, 2}, {-1, 0})
      .KeepFilledParams()
      .ExpectTop({1, 2}, {-2, 0});
}

TEST(PReLU, MayShareOneSlope) {
  LayerCase("type: 'PReLU' prelu_param { channel_shared: true }")
      .Bottom({3, 2}, {-1, 2, -3, 4, 5, -6})
      .Param(0, {0.5})
      .ExpectParam(0, {0.5})
      .ExpectTop({3, 2}, {-0.5, 2, -1.5, 4, 5, -3});
}

TEST_ON_DEVICES(PReLU, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* shared : {"false", "true"}) {
    for (const Shape& shape : {Shape{3, 5, 2, 1}, Shape{1, 3}, Shape{3, 19, 3}}) {
      LayerCase c("type: 'PReLU' prelu_param { channel_shared: " + std::string(shared) + " }");
      c.RandomBottom(shape)
          .ExpectTopShape(shape)
          .ExpectGradient(1e-4, 1e-5, 0)
          .ExpectBackendsAgree();
      c.InPlace().ExpectGradient(1e-4, 1e-5, 0).ExpectBackendsAgree();
    }
  }
}

// The shapes make the GPU use each of its algorithms for sums over channels.
TEST_ON_DEVICES(PReLU, AgreesForManyChannelsAndForLongOnes) {
  for (const char* shared : {"false", "true"}) {
    for (const Shape& shape : {Shape{40, 300}, Shape{33, 70, 2, 2}, Shape{2, 3, 20, 20}}) {
      LayerCase c("type: 'PReLU' prelu_param { channel_shared: " + std::string(shared) + " }");
      c.RandomBottom(shape).ExpectBackendsAgree();
      c.ExpectGpuKernel();
      c.ExpectNarrowOnGpu();
      c.ExpectNoGpuConversions();
    }
  }
}

TEST(PReLU, NeedsChannels) {
  LayerCase("type: 'PReLU'").Bottom({3}, {1, 2, 3}).ExpectMistake({"shape 3", "at least 2 axes"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(Slice, CutsIntoEqualTops) {
  LayerCase("type: 'Slice'")
      .Bottom({3, 2}, {1, 2, 3, 4, 5, 6})
      .Tops(2)
      .ExpectTop({3, 1}, {1, 3, 5})
      .ExpectTop({3, 1}, {2, 4, 6}, 1e-5, 1)
      .ExpectBottomGradient({7, 8, 9}, {7, 0, 8, 0, 9, 0});
}

TEST(Slice, CutsAtPoints) {
  LayerCase("type: 'Slice' slice_param { slice_point: 1 slice_point: 3 }")
      .Bottom({1, 4, 1}, {1, 2, 3, 4})
      .Tops(3)
      .ExpectTop({1, 1, 1}, {1})
      .ExpectTop({1, 2, 1}, {2, 3}, 1e-5, 1)
      .ExpectTop({1, 1, 1}, {4}, 1e-5, 2);
  for (const char* axis : {"axis: 0", "axis: -2", "slice_dim: 0"}) {
    LayerCase("type: 'Slice' slice_param { slice_point: 2 " + std::string(axis) + " }")
        .Bottom({3, 2}, {1, 2, 3, 4, 5, 6})
        .Tops(2)
        .ExpectTop({2, 2}, {1, 2, 3, 4})
        .ExpectTop({1, 2}, {5, 6}, 1e-5, 1);
  }
}

TEST_ON_DEVICES(Slice, IntoOneTopIsTheBottom) {
  LayerCase c("type: 'Slice'");
  c.Bottom({1, 3}, {1, 2, 3}).ExpectTop({1, 3}, {1, 2, 3}).ExpectGradient().ExpectBackendsAgree();
  EXPECT_EQ(c.Engine(), "view");
}

TEST_ON_DEVICES(Slice, CountsTopsThatNoLayerReadsAsZero) {
  LayerCase("type: 'Slice' slice_param { slice_point: 1 }")
      .RandomBottom({3, 3})
      .Tops(2)
      .Read(1)
      .ExpectBottomGradient({7, 8, 9}, {7, 0, 0, 8, 0, 0, 9, 0, 0})
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST_ON_DEVICES(Slice, AgreesWithDifferencesAndInEveryLayout) {
  const std::vector<std::pair<int64_t, int>> cuts = {{64, 16}, {48, 16}, {24, 8},
                                                     {9, 5},   {19, 16}, {19, 3}};
  for (const auto& [channels, point] : cuts) {
    LayerCase c("type: 'Slice' slice_param { slice_point: " + std::to_string(point) + " }");
    c.RandomBottom({3, channels, 2, 1}).Tops(2).ExpectBackendsAgree();
    EXPECT_EQ(c.Engine(), "onednn");
    c.ExpectNarrowOnGpu();
    c.ExpectNoGpuConversions();
    c.ExpectGpuKernel();
  }
  for (const char* axis : {"axis: 0", "axis: 2", "axis: 3"}) {
    for (int64_t channels : {3, 16, 19}) {
      LayerCase("type: 'Slice' slice_param { slice_point: 1 " + std::string(axis) + " }")
          .RandomBottom({3, channels, 3, 2})
          .Tops(2)
          .ExpectBackendsAgree();
    }
  }
  LayerCase("type: 'Slice' slice_param { axis: -1 slice_point: 1 slice_point: 3 }")
      .RandomBottom({1, 2, 4})
      .Tops(3)
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST_ON_DEVICES(Slice, HasAKernelForTopsOfDifferentTypes) {
  // Top 0 is a loss and hence in single precision.
  LayerCase c("type: 'Slice' slice_param { slice_point: 2 } loss_weight: 1 loss_weight: 0");
  c.RandomBottom({3, 5, 2, 1}).Tops(2).ExpectBackendsAgree();
  c.ExpectGpuKernel();
  if (OnGpu()) {
    EXPECT_FALSE(c.NarrowOnGpu());
  }
}

TEST(Slice, ExplainsMistakes) {
  auto cut = [](const std::string& param) {
    LayerCase c("type: 'Slice' slice_param { " + param + " }");
    c.RandomBottom({1, 5}).Tops(2);
    return c;
  };
  cut("").ExpectMistake(
      {"axis 1 of bottom 'b0' (1x5)", "cannot be cut into 2 equal tops", "slice_point"});
  cut("slice_point: 1 slice_point: 2").ExpectMistake({"2 tops need 1 slice_points, got 2"});
  cut("slice_point: 0").ExpectMistake({"slice_point 0 is not between 0 and 5"});
  cut("slice_point: 5").ExpectMistake({"slice_point 5 is not between 0 and 5"});
  cut("slice_point: 3 slice_point: 3")
      .Tops(3)
      .ExpectMistake({"slice_point 3 is not between 3 and 5", "increase"});
  cut("axis: 2").ExpectMistake({"axis 2 does not exist"});
  cut("slice_dim: 2").ExpectMistake({"slice_dim 2"});
  cut("axis: 1 slice_dim: 1").ExpectMistake({"two names of the same field"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Tiled(const std::string& param) {
  return LayerCase("type: 'Tile' tile_param { " + param + " }");
}

TEST(Tile, RepeatsAlongAnAxis) {
  Tiled("tiles: 2").Bottom({2, 2}, {1, 2, 3, 4}).ExpectTop({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4});
  Tiled("axis: 0 tiles: 3").Bottom({1, 2}, {1, 2}).ExpectTop({3, 2}, {1, 2, 1, 2, 1, 2});
  Tiled("axis: -1 tiles: 2")
      .Bottom({1, 2, 2}, {1, 2, 3, 4})
      .ExpectTop({1, 2, 4}, {1, 2, 1, 2, 3, 4, 3, 4})
      .ExpectBottomGradient({1, 2, 3, 4, 5, 6, 7, 8}, {4, 6, 12, 14});
}

TEST_ON_DEVICES(Tile, OfOneTileIsTheBottom) {
  LayerCase c = Tiled("tiles: 1");
  c.RandomBottom({3, 2}).ExpectGradient().ExpectBackendsAgree();
  EXPECT_EQ(c.Engine(), "view");
}

TEST_ON_DEVICES(Tile, AgreesWithDifferencesAndInEveryLayout) {
  for (const char* axis : {"axis: 0", "axis: 1", "axis: 3"}) {
    LayerCase c = Tiled(std::string(axis) + " tiles: 3");
    c.RandomBottom({3, 5, 2, 3}).ExpectGradient().ExpectBackendsAgree();
    c.ExpectGpuKernel();
  }
}

TEST(Tile, ExplainsMistakes) {
  Tiled("").RandomBottom({2, 2}).ExpectMistake({"tiles is missing"});
  Tiled("tiles: 0").RandomBottom({2, 2}).ExpectMistake({"tiles must be positive, found 0"});
  Tiled("tiles: 2 axis: 2").RandomBottom({2, 2}).ExpectMistake({"axis 2 does not exist", "2x2"});
}

}  // namespace
}  // namespace doppio

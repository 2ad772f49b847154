#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Pyramid(const std::string& param) {
  return LayerCase("type: 'SPP' spp_param { " + param + " }");
}

// An image of 3 x 3 pixels.
const std::vector<double> kNine = {1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST(SPP, JoinsEverFinerPoolings) {
  // Two windows over three pixels have kernel 2 and padding 1; half of the first one is padding.
  Pyramid("pyramid_height: 2")
      .Bottom({1, 1, 3, 3}, kNine)
      .ExpectTop({1, 5}, {9, 1, 3, 7, 9})
      .ExpectBottomGradient({1, 10, 100, 1000, 10000}, {10, 0, 100, 0, 0, 0, 1000, 0, 10001});
  // The mean includes the padding.
  Pyramid("pyramid_height: 2 pool: AVE")
      .Bottom({1, 1, 3, 3}, kNine)
      .ExpectTop({1, 5}, {5, 0.25, 1.25, 2.75, 7});
}

TEST(SPP, PutsAllOfALevelSideBySide) {
  Pyramid("pyramid_height: 2")
      .Bottom({2, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
      .ExpectTop({2, 10}, {4,  8,  1, 2,  3,  4,  5,  6,  7,  8,  //
                           12, 16, 9, 10, 11, 12, 13, 14, 15, 16});
}

TEST(SPP, OfOneLevelStaysAnImage) {
  Pyramid("pyramid_height: 1").Bottom({1, 1, 3, 3}, kNine).ExpectTop({1, 1, 1, 1}, {9});
}

TEST_ON_DEVICES(SPP, AgreesWithDifferencesAndOnEveryDevice) {
  for (const char* pool : {"MAX", "AVE"}) {
    for (const char* height : {"1", "2", "3"}) {
      LayerCase c = Pyramid("pool: " + std::string(pool) + " pyramid_height: " + height);
      c.RandomBottom({3, 2, 9, 7}).ExpectGradient(1e-6, 1e-4).ExpectBackendsAgree();
      c.ExpectGpuKernel();
    }
    Pyramid("pyramid_height: 2 pool: " + std::string(pool))
        .RandomBottom({1, 16, 4, 6})
        .ExpectBackendsAgree();
  }
}

TEST_ON_DEVICES(SPP, DrawsAtEachLevel) {
  Pyramid("pool: STOCHASTIC pyramid_height: 3")
      .RandomBottom({3, 2, 8, 4}, 0.1, 1)
      .ExpectBackendsAgree();
  Pyramid("pool: STOCHASTIC pyramid_height: 2")
      .InPhase(TEST)
      .RandomBottom({1, 2, 4, 4}, 0.1, 1)
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST(SPP, ExplainsMistakes) {
  Pyramid("").RandomBottom({1, 1, 2, 2}).ExpectMistake({"pyramid_height must be 1 to", "found 0"});
  Pyramid("pyramid_height: 2").RandomBottom({1, 2, 2}).ExpectMistake({"4 axes", "found 1x2x2"});
  Pyramid("pyramid_height: 3")
      .RandomBottom({1, 1, 4, 3})
      .ExpectMistake({"4 windows along an axis of 3", "smaller pyramid_height"});
  Pyramid("pyramid_height: 2 pool: STOCHASTIC")
      .RandomBottom({1, 1, 4, 3})
      .ExpectMistake({"STOCHASTIC pooling has no padding", "2 windows over 4x3"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

TEST(Silence, TakesBlobsFromTheOutputsOfTheNet) {
  const std::string input =
      "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y' input_param { shape { dim: 1 } shape "
      "{ dim: 1 } } }";
  EXPECT_EQ(GraphFromText(input).outputs.size(), 2u);
  EXPECT_EQ(GraphFromText(input + "layer { name: 's' type: 'Silence' bottom: 'x' }").outputs.size(),
            1u);
  EXPECT_EQ(GraphFromText(input + "layer { name: 's' type: 'Silence' bottom: 'x' bottom: 'y' }")
                .outputs.size(),
            0u);
}

TEST_ON_DEVICES(Silence, TakesAnyLayoutAndSendsNoGradient) {
  LayerCase c("type: 'Silence'");
  c.RandomBottom({3, 5, 2, 1}).RandomBottom({1}).Tops(0).NoGradient().ExpectBackendsAgree();
  EXPECT_EQ(c.BottomGradient(), std::vector<double>());
  c.ExpectGpuKernel();
  c.ExpectNarrowOnGpu();
  c.ExpectNoGpuConversions();
}

TEST(Silence, HasBottomsOnly) {
  LayerCase("type: 'Silence'").RandomBottom({1}).ExpectMistake({"Silence takes", "top"});
  LayerCase("type: 'Silence'").Tops(0).NoGradient().ExpectMistake({"Silence takes", "bottom"});
}

}  // namespace
}  // namespace doppio

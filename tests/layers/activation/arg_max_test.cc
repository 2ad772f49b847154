#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// The second row has a tie; the later element wins it.
LayerCase Lines(const std::string& param) {
  LayerCase c("type: 'ArgMax' argmax_param { " + param + " }");
  c.Bottom({2, 3}, {1, 3, 2, 5, 5, 4}).NoGradient();
  return c;
}

TEST_ON_DEVICES(ArgMax, NamesTheLargestElementOfASample) {
  Lines("").ExpectTop({2, 1, 1}, {1, 1}).ExpectBackendsAgree();
  Lines("top_k: 2").ExpectTop({2, 1, 2}, {1, 2, 1, 0}).ExpectBackendsAgree();
  LayerCase("type: 'ArgMax'")
      .Bottom({3, 2, 1, 2}, {1, 2, 3, 0, 4, 4, 4, 4, -1, -2, -3, -4})
      .NoGradient()
      .ExpectTop({3, 1, 1, 1}, {2, 3, 0})
      .ExpectBackendsAgree();
}

TEST(ArgMax, GivesIndicesThenValues) {
  Lines("out_max_val: true").ExpectTop({2, 2, 1}, {1, 3, 1, 5});
  Lines("out_max_val: true top_k: 2").ExpectTop({2, 2, 2}, {1, 2, 3, 2, 1, 0, 5, 5});
}

TEST_ON_DEVICES(ArgMax, LooksAlongAnAxis) {
  Lines("axis: 1").ExpectTop({2, 1}, {1, 1});
  Lines("axis: 1 top_k: 3").ExpectTop({2, 3}, {1, 2, 0, 1, 0, 2});
  Lines("axis: 0").ExpectTop({1, 3}, {1, 1, 1});
  Lines("axis: 0 out_max_val: true").ExpectTop({1, 3}, {5, 5, 4}).ExpectBackendsAgree();
  Lines("axis: 0 top_k: 2 out_max_val: true").ExpectTop({2, 3}, {5, 5, 4, 1, 3, 2});
  LayerCase("type: 'ArgMax' argmax_param { axis: -1 top_k: 2 }")
      .Bottom({1, 2, 3}, {5, 1, 3, 2, 2, 0})
      .NoGradient()
      .ExpectTop({1, 2, 2}, {0, 2, 1, 0});
}

TEST(ArgMax, ExplainsMistakes) {
  Lines("axis: 2").ExpectMistake({"axis 2 does not exist", "2x3"});
  Lines("top_k: 0").ExpectMistake({"top_k 0 is not in 1..3"});
  Lines("top_k: 3 axis: 0").ExpectMistake({"top_k 3 is not in 1..2", "compared"});
  LayerCase("type: 'ArgMax'").Bottom({}, {1}).NoGradient().ExpectMistake({"scalar"});
  LayerCase("type: 'ArgMax'").Bottom({1}, {1}).ExpectMistake({"ArgMax has no gradient"});
}

}  // namespace
}  // namespace doppio

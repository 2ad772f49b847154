#include <gtest/gtest.h>

#include <cmath>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// The map has 1 x 2 positions; the images have height 10 and width 20.
LayerCase Priors(const std::string& param) {
  LayerCase c("type: 'PriorBox' prior_box_param { " + param + " }");
  c.RandomBottom({3, 4, 1, 2}).RandomBottom({3, 3, 10, 20}).NoGradient();
  return c;
}

using Values = std::vector<double>;

Values With(Values boxes, double variance = 0.1) {
  boxes.resize(2 * boxes.size(), variance);
  return boxes;
}

TEST_ON_DEVICES(PriorBox, MakesASquareAroundEachPosition) {
  const Values boxes = {0.15, 0.3, 0.35, 0.7, 0.65, 0.3, 0.85, 0.7};
  Priors("min_size: 4").ExpectTop({1, 2, 8}, With(boxes)).ExpectBackendsAgree();
  // Sizes are truncated to whole pixels.
  Priors("min_size: 4.9 variance: 0.3").ExpectTop({1, 2, 8}, With(boxes, 0.3));
}

TEST(PriorBox, MakesBoxesInDoubleIfTheNetComputesInDouble) {
  Priors("min_size: 4 variance: 0.5")
      .ExpectTop({1, 2, 8}, With({0.15, 0.3, 0.35, 0.7, 0.65, 0.3, 0.85, 0.7}, 0.5), 1e-15);
}

TEST(PriorBox, MakesOtherSizesAndShapes) {
  // One position has the boxes 4 x 4, 6 x 6 (6 = sqrt(4 * 9)), and those with the ratios 4 and 1/4.
  // The ratio 1 and the second 4 add no boxes.
  LayerCase c(
      "type: 'PriorBox' prior_box_param { min_size: 4 max_size: 9 aspect_ratio: [1, 4, 4] "
      "variance: [0.1, 0.1, 0.2, 0.2] }");
  c.RandomBottom({1, 1, 1, 1}).RandomBottom({1, 3, 20, 20}).NoGradient();
  c.ExpectTop({1, 2, 16}, {0.4,  0.4,  0.6, 0.6,  0.35, 0.35, 0.65, 0.65, 0.3, 0.45, 0.7,
                           0.55, 0.45, 0.3, 0.55, 0.7,  0.1,  0.1,  0.2,  0.2, 0.1,  0.1,
                           0.2,  0.2,  0.1, 0.1,  0.2,  0.2,  0.1,  0.1,  0.2, 0.2});
  LayerCase unflipped(
      "type: 'PriorBox' prior_box_param { min_size: [4, 8] aspect_ratio: 4 flip: false }");
  unflipped.RandomBottom({1, 1, 1, 1}).RandomBottom({1, 3, 20, 20}).NoGradient();
  unflipped.ExpectTop({1, 2, 16}, With({0.4, 0.4, 0.6, 0.6, 0.3, 0.45, 0.7, 0.55,  //
                                        0.3, 0.3, 0.7, 0.7, 0.1, 0.4, 0.9, 0.6}));
}

TEST(PriorBox, TakesItsOwnStepsOffsetAndImage) {
  Priors("min_size: 4 step: 5 offset: 0")
      .ExpectTop({1, 2, 8}, With({-0.1, -0.2, 0.1, 0.2, 0.15, -0.2, 0.35, 0.2}));
  Priors("min_size: 4 step: 5 offset: 0 clip: true")
      .ExpectTop({1, 2, 8}, With({0, 0, 0.1, 0.2, 0.15, 0, 0.35, 0.2}));
  Priors("min_size: 4 img_h: 20 img_w: 40")
      .ExpectTop({1, 2, 8}, With({0.2, 0.4, 0.3, 0.6, 0.7, 0.4, 0.8, 0.6}));
  Priors("min_size: 4 img_size: 20 step_h: 10 step_w: 5")
      .ExpectTop({1, 2, 8}, With({0.025, 0.15, 0.225, 0.35, 0.275, 0.15, 0.475, 0.35}));
}

TEST(PriorBox, ExplainsMistakes) {
  Priors("").ExpectMistake({"needs a min_size"});
  Priors("min_size: 0.5").ExpectMistake({"min_size is truncated to whole pixels; give at least 1"});
  Priors("min_size: [4, 5] max_size: 9").ExpectMistake({"1 max_size, but 2 min_size"});
  Priors("min_size: 4 max_size: 4").ExpectMistake({"larger than its min_size"});
  Priors("min_size: 4 aspect_ratio: -1").ExpectMistake({"aspect_ratio is -1", "positive"});
  Priors("min_size: 4 variance: [0.1, 0.2]").ExpectMistake({"one variance, or four"});
  Priors("min_size: 4 variance: 0").ExpectMistake({"variance is 0", "positive"});
  Priors("min_size: 4 img_h: 3").ExpectMistake({"img_h and img_w are both needed"});
  Priors("min_size: 4 step: 3 step_h: 3 step_w: 3")
      .ExpectMistake({"give step, or step_h and step_w"});
  Priors("min_size: 4 step: -3").ExpectMistake({"step is -3", "positive"});
  LayerCase c("type: 'PriorBox' prior_box_param { min_size: 4 }");
  c.RandomBottom({1, 1, 1, 1})
      .RandomBottom({1, 3})
      .NoGradient()
      .ExpectMistake({"both of 4 axes", "1x3"});
}

}  // namespace
}  // namespace doppio

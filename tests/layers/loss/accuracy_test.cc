#include <gtest/gtest.h>

#include <limits>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// Three samples whose labels rank first, second, and in a tie of all classes.
LayerCase Scores(const std::string& param, const std::vector<double>& labels = {3, 1, 0}) {
  LayerCase c("type: 'Accuracy' accuracy_param { " + param + " }");
  c.Bottom({3, 4}, {1, 2, 3, 4, 8, 7, 6, 5, 2, 2, 2, 2}).Bottom({3}, labels).NoGradient();
  return c;
}

TEST_ON_DEVICES(Accuracy, CountsLabelsAmongTheBestScores) {
  Scores("").ExpectTop({}, {1.0 / 3}).ExpectBackendsAgree();
  Scores("top_k: 2").ExpectTop({}, {2.0 / 3}).ExpectBackendsAgree();
}

TEST(Accuracy, CountsEqualScoresAgainstTheLabel) {
  Scores("top_k: 3").ExpectTop({}, {2.0 / 3});
  Scores("top_k: 4").ExpectTop({}, {1});
}

TEST_ON_DEVICES(Accuracy, ShowsEveryClassInASecondTop) {
  // Class 2 has no label.
  Scores("top_k: 2")
      .Tops(2)
      .ExpectTop({}, {2.0 / 3})
      .ExpectTop({4}, {0, 1, 0, 1}, 1e-5, 1)
      .ExpectBackendsAgree();
}

TEST(Accuracy, LeavesIgnoredLabelsOut) {
  Scores("ignore_label: 1").ExpectTop({}, {0.5});
  Scores("ignore_label: -1", {-1, -1, 3}).ExpectTop({}, {0});
  Scores("ignore_label: -1", {-1, -1, -1})
      .Tops(2)
      .ExpectTop({}, {0})
      .ExpectTop({4}, {0, 0, 0, 0}, 1e-5, 1);
}

TEST(Accuracy, CutsLabelsToIntegers) { Scores("", {3.9, 1, 0}).ExpectTop({}, {1.0 / 3}); }

TEST_ON_DEVICES(Accuracy, TakesAClassForEveryPosition) {
  for (const char* axis : {"axis: 1", "axis: -3"}) {
    LayerCase("type: 'Accuracy' accuracy_param { " + std::string(axis) + " }")
        .Bottom({2, 2, 1, 2}, {1, 5, 2, 4, 7, 0, 3, 9})
        .Bottom({2, 1, 2}, {1, 1, 0, 1})
        .NoGradient()
        .ExpectTop({}, {0.75})
        .ExpectBackendsAgree();
  }
  LayerCase("type: 'Accuracy' accuracy_param { axis: 0 }")
      .Bottom({3}, {1, 5, 2})
      .Bottom({}, {1})
      .NoGradient()
      .ExpectTop({}, {1});
}

TEST(Accuracy, CountsNaNAsAMiss) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  LayerCase("type: 'Accuracy'")
      .Bottom({1, 2}, {nan, nan})
      .Bottom({1}, {0})
      .NoGradient()
      .ExpectTop({}, {0});
}

TEST(Accuracy, ExplainsMistakes) {
  Scores("axis: 2").ExpectMistake({"axis 2", "does not exist in the bottom", "3x4"});
  Scores("top_k: 0").ExpectMistake({"top_k 0 is not in 1..4"});
  Scores("top_k: 5").ExpectMistake({"top_k 5 is not in 1..4", "classes"});
  Scores("axis: 0").ExpectMistake({"label 'b1' has 3 values (3)", "needs 4", "3x4"});
  Scores("", {3, 4, 0}).ExpectMistake({"label 4 at sample 1 is outside 0..3", "ignore_label"});
  Scores("", {-1, 1, 0}).ExpectMistake({"label -1 at sample 0"});
  LayerCase("type: 'Accuracy'")
      .Bottom({1, 2, 2}, {1, 2, 3, 4})
      .Bottom({1, 2}, {0, 2})
      .NoGradient()
      .ExpectMistake({"label 2 at sample 0, position 1, is outside 0..1"});
}

TEST(Accuracy, RefusesOneScoreForTwoClasses) {
  for (const char* type : {"Accuracy", "SegAccuracy"}) {
    LayerCase("type: '" + std::string(type) + "'")
        .Bottom({3, 1, 1, 1}, {-1, 2, 3})
        .Bottom({3, 1, 1}, {0, 1, 1})
        .NoGradient()
        .ExpectMistake({std::string(type) + " needs a score for each class, but 'b0' has only one",
                        "num_output: 2 and SoftmaxWithLoss", "a Power with scale: 0 on 'b0'"});
  }
}

TEST(Accuracy, IsNothingToLearnFrom) {
  LayerCase("type: 'Accuracy'")
      .RandomBottom({3, 2})
      .LabelBottom({3}, 2)
      .ExpectMistake({"Accuracy has no gradient"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include <cmath>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Annotator(const std::string& param) {
  LayerCase c("type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { " + param + " }");
  c.NoGradient().Tops(2);
  return c;
}

// Returns one region (image and four corners) per image in `images`; the corners do not matter.
std::vector<double> Of(const std::vector<double>& images) {
  std::vector<double> rois;
  for (double image : images) rois.insert(rois.end(), {image, 1, 2, 3, 4});
  return rois;
}

TEST_ON_DEVICES(BoxAnnotatorOHEM, KeepsTheHardestOfEachImage) {
  Annotator("roi_per_img: 2")
      .Bottom({5, 5}, Of({0, 1, 0, 0, 1}))
      .Bottom({5}, {1, 9, 3, 2, 8})
      .Bottom({5, 1, 1, 1}, {4, 5, 6, 7, 0})
      .Bottom({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
      .ExpectTop({5, 1, 1, 1}, {-1, 5, 6, 7, 0}, 0, 0)
      .ExpectTop({5, 2}, {0, 0, 3, 4, 5, 6, 7, 8, 9, 10}, 0, 1)
      .ExpectBackendsAgree();
}

TEST(BoxAnnotatorOHEM, KeepsAllWhereThereAreFewAndTheFirstOfEquals) {
  Annotator("roi_per_img: 1 ignore_label: 255")
      .Bottom({4, 5}, Of({2, 0, 0, 0}))
      .Bottom({4}, {0, 3, 3, 3})
      .Bottom({4}, {1, 2, 3, 4})
      .Bottom({4, 1}, {1, 1, 1, 1})
      .ExpectTop({4}, {1, 2, 255, 255}, 0, 0)
      .ExpectTop({4, 1}, {1, 1, 0, 0}, 0, 1);
}

TEST(BoxAnnotatorOHEM, TakesEveryPosition) {
  // With two positions per sample, the five numbers of a region are two elements apart.
  Annotator("roi_per_img: 1")
      .Bottom({1, 5, 1, 2}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4})
      .Bottom({1, 1, 1, 2}, {1, 2})
      .Bottom({1, 1, 1, 2}, {7, 8})
      .Bottom({1, 2, 1, 2}, {1, 2, 3, 4})
      .ExpectTop({1, 1, 1, 2}, {-1, 8}, 0, 0)
      .ExpectTop({1, 2, 1, 2}, {0, 2, 0, 4}, 0, 1);
}

TEST(BoxAnnotatorOHEM, ShowsALossThatIsNoNumber) {
  Annotator("roi_per_img: 1")
      .Bottom({3, 5}, Of({0, 0, 0}))
      .Bottom({3}, {5, NAN, 6})
      .Bottom({3}, {1, 2, 3})
      .Bottom({3, 1}, {1, 1, 1})
      .ExpectTop({3}, {-1, 2, -1}, 0, 0);
}

TEST(BoxAnnotatorOHEM, ExplainsMistakes) {
  const auto with = [](const std::string& param, const Shape& rois, const Shape& losses,
                       const Shape& weights) {
    LayerCase c = Annotator(param);
    c.RandomBottom(rois, 0, 1).RandomBottom(losses).RandomBottom({3}).RandomBottom(weights);
    return c;
  };
  with("", {3, 5}, {3}, {3, 1}).ExpectMistake({"roi_per_img", "must be given"});
  with("roi_per_img: 1", {3, 4}, {3}, {3, 1}).ExpectMistake({"3x4", "5 numbers on axis 1"});
  with("roi_per_img: 1", {3, 5}, {4}, {3, 1}).ExpectMistake({"losses", "the 3 regions"});
  with("roi_per_img: 1", {3, 5}, {3}, {4, 1}).ExpectMistake({"weights", "4x1"});
  Annotator("roi_per_img: 1")
      .Bottom({1, 5}, Of({-1}))
      .RandomBottom({1})
      .RandomBottom({1})
      .RandomBottom({1, 1})
      .ExpectMistake({"region 0", "names image -1"});
}

}  // namespace
}  // namespace doppio

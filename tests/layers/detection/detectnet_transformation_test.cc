#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

constexpr char kGrid[] =
    "detectnet_groundtruth_param { stride: 2 image_size_x: 4 image_size_y: 2 scale_cvg: 1 "
    "gridbox_type: GRIDBOX_MIN min_cvg_len: 1 obj_norm: true } transform_param { mean_value: 10 }";

LayerCase Transformation(const std::string& fields) {
  LayerCase c("type: 'DetectNetTransformation' " + fields);
  c.NoGradient().Tops(2);
  return c;
}

// The labels of two images: a car in the left half of the first, and nothing in the second.
std::vector<double> Labels() {
  std::vector<double> labels(2 * 2 * 16, 0);
  labels[0] = 1;
  labels[1] = labels[33] = 16;
  const std::vector<double> car = {0, 0, 2, 2, 0, 1};
  std::copy(car.begin(), car.end(), labels.begin() + 16);
  return labels;
}

TEST_ON_DEVICES(DetectNetTransformation, FitsImagesAndMakesLabelsInTests) {
  std::vector<double> images(2 * 3 * 2 * 4, 10), expected(images.size(), 0);
  images[0] = 60;
  expected[0] = 50;
  std::vector<double> labels(2 * 9 * 2, 0);
  const std::vector<double> car = {1, 0, 0, 2, 2, 0.5, 0.5, 1, 1};
  for (size_t i = 0; i < car.size(); ++i) labels[2 * i] = car[i];
  Transformation(kGrid)
      .InPhase(TEST)
      .Bottom({2, 3, 2, 4}, images)
      .Bottom({2, 1, 2, 16}, Labels())
      .ExpectTop({2, 3, 2, 4}, expected, 1e-4, 0)
      .ExpectTop({2, 9, 1, 2}, labels, 1e-6, 1)
      .ExpectBackendsAgree();
}

TEST_ON_DEVICES(DetectNetTransformation, AugmentsInTraining) {
  LayerCase c = Transformation(kGrid);
  c.RandomBottom({2, 3, 3, 5}, 0, 255).Bottom({2, 32}, Labels());
  c.ExpectTopShape({2, 3, 2, 4}).ExpectTopShape({2, 9, 1, 2}, 1).ExpectBackendsAgree();
}

TEST(DetectNetTransformation, ExplainsMistakes) {
  Transformation(kGrid)
      .RandomBottom({2, 1, 2, 4})
      .Bottom({2, 32}, Labels())
      .ExpectMistake({"images must be N x 3 x H x W"});
  Transformation(kGrid)
      .RandomBottom({1, 3, 2, 4})
      .Bottom({2, 32}, Labels())
      .ExpectMistake({"one row of labels for each of the 1 images"});
  Transformation(kGrid)
      .RandomBottom({2, 3, 2, 4})
      .Bottom({2, 32}, std::vector<double>(64, 3))
      .ExpectMistake({"the number of objects and 16"});
  Transformation("detectnet_groundtruth_param { stride: 0 }")
      .RandomBottom({2, 3, 2, 4})
      .Bottom({2, 32}, Labels())
      .ExpectMistake({"stride must be at least 1"});
}

}  // namespace
}  // namespace doppio

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Targets(const std::string& fields) {
  LayerCase c("type: 'ProposalTarget' proposal_target_param { " + fields + " }");
  c.NoGradient().Tops(5);
  return c;
}

TEST_ON_DEVICES(ProposalTarget, SamplesAndEncodesByHand) {
  // The object is 10 x 10 pixels. Region 0 is 10 x 8 within it (overlap 0.8), region 1 does not
  // meet it, region 2 repeats region 0 and is ignored. With the object there are three samples,
  // all of which are taken; the fourth row repeats the first.
  const double height = std::log(10.0 / 8) / 0.2;
  LayerCase c = Targets("num_classes: 3 batch_size: 4 fg_fraction: 0.5");
  c.Bottom({3, 5}, {0, 0, 0, 9, 7, 0, 50, 50, 59, 59, 0, 0, 0, 9, 7})
      .Bottom({2, 5}, {0, 0, 9, 9, 2, 0, 0, 0, 0, 0})
      .ExpectTop({4, 5}, {0, 0, 0, 9, 7, 0, 0, 0, 9, 9, 0, 50, 50, 59, 59, 0, 0, 0, 9, 7}, 0, 0)
      .ExpectTop({4, 1, 1, 1}, {2, 2, 0, 2}, 0, 1);
  const std::vector<double> targets = c.Top(2), weights = c.Top(3);
  ASSERT_EQ(targets.size(), 48u);
  // dy = (5 - 4) / 8 = 0.125, divided by 0.1.
  const std::vector<double> first = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1.25, 0, height};
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_NEAR(targets[i], first[i], 1e-6) << i;
    EXPECT_EQ(targets[36 + i], targets[i]);
    EXPECT_EQ(weights[i], i >= 8 ? 1 : 0);
    EXPECT_EQ(targets[24 + i], 0);
    EXPECT_EQ(weights[24 + i], 0);
  }
  EXPECT_EQ(c.Top(4), weights);
  c.ExpectBackendsAgree();
}

TEST(ProposalTarget, LimitsTheObjectsAndKeepsAllOnRequest) {
  std::vector<double> regions;
  for (int i = 0; i < 20; ++i) {
    const double x = i < 10 ? 0 : 100;
    regions.insert(regions.end(), {0, x, 0, x + 9, 9 + 0.01 * i});
  }
  const auto labels = [&](const std::string& fields) {
    LayerCase c = Targets("num_classes: 2 " + fields);
    c.Bottom({20, 5}, regions).Bottom({1, 5}, {0, 0, 9, 9, 17});
    return c.Top(1);
  };
  // Class 17 with num_classes 2: the targets do not depend on the class.
  std::vector<double> some = labels("batch_size: 8");
  EXPECT_EQ(some, (std::vector<double>{17, 17, 0, 0, 0, 0, 0, 0}));
  some = labels("batch_size: 0");
  EXPECT_EQ(some.size(), 21u);
  EXPECT_EQ(std::count(some.begin(), some.end(), 17), 11);
}

TEST(ProposalTarget, TrainsOnBackgroundWithoutObjects) {
  Targets("num_classes: 2 batch_size: 2")
      .Bottom({1, 5}, {0, 1, 2, 3, 4})
      .Bottom({1, 5}, {0, 0, 0, 0, 0})
      .ExpectTop({2, 5}, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4}, 0, 0)
      .ExpectTop({2, 1, 1, 1}, {0, 0}, 0, 1)
      .ExpectTop({2, 8}, std::vector<double>(16, 0), 0, 3);
}

TEST(ProposalTarget, ReadsParamStr) {
  LayerCase c("type: 'ProposalTarget' python_param { param_str: \"'num_classes': 21\" }");
  c.NoGradient().Tops(5).Bottom({1, 5}, {0, 1, 2, 3, 4}).Bottom({1, 5}, {0, 0, 9, 9, 20});
  c.ExpectTopShape({128, 84}, 2);
}

TEST(ProposalTarget, ExplainsMistakes) {
  const auto with = [](const std::string& fields, const std::vector<double>& region, double label) {
    LayerCase c = Targets(fields);
    c.Bottom({1, 5}, region).Bottom({1, 5}, {0, 0, 9, 9, label});
    return c;
  };
  const std::vector<double> region = {0, 0, 0, 9, 9};
  with("", region, 1).ExpectMistake({"needs num_classes"});
  with("num_classes: 3 bbox_std: 1", region, 1).ExpectMistake({"bbox_std", "give it 4 times"});
  with("num_classes: 3 bg_thresh_lo: 0.6", region, 1).ExpectMistake({"above bg_thresh_lo"});
  with("num_classes: 3", region, 3).ExpectMistake({"class 3", "num_classes is 3"});
  with("num_classes: 3", {1, 0, 0, 9, 9}, 1).ExpectMistake({"row 0 of the regions", "image 1"});
  Targets("num_classes: 3")
      .RandomBottom({2, 4})
      .RandomBottom({1, 5})
      .ExpectMistake({"2x4", "image, x1, y1, x2, y2"});
  with("num_classes: 3 bbox_std: 1 bbox_std: 1 bbox_std: 0 bbox_std: 1", region, 1)
      .ExpectMistake({"bbox_std must be positive"});
}

}  // namespace
}  // namespace doppio

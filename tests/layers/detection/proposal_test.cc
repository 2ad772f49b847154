#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// One anchor of 16 x 16 pixels per position: {16 x, 16 y, 16 x + 15, 16 y + 15}.
LayerCase ProposalOf(const std::string& fields) {
  LayerCase c("type: 'Proposal' proposal_param { scale: 1 ratio: 1 " + fields + " }");
  c.NoGradient();
  return c;
}

TEST_ON_DEVICES(Proposal, OrdersClipsAndSuppresses) {
  // By hand. Codes of zeros give a box one pixel larger than the anchor. Position 0 is the best;
  // the box of position 1 moves onto it and is suppressed; the box of position 3 is clipped.
  ProposalOf("post_nms_topn: 4 min_size: 4 nms_thresh: 0.7")
      .Bottom({1, 2, 1, 4}, {0, 0, 0, 0, 0.9, 0.8, 0.3, 0.6})
      .Bottom({1, 4, 1, 4}, {0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
      .Bottom({1, 3}, {16, 56, 1})
      .Tops(2)
      .ExpectTop({4, 5}, {0, 0, 0, 16, 15, 0, 48, 0, 55, 15, 0, 32, 0, 48, 15, 0, 0, 0, 16, 15})
      .ExpectTop({4, 1}, {0.9, 0.6, 0.3, 0.9}, 1e-5, 1)
      .ExpectBackendsAgree();
}

TEST(Proposal, DropsSmallBoxesAndReturnsTheImageWithoutAny) {
  // The second box has 8 of 16 pixels in the image; min_size is in pixels before scaling by 2.
  ProposalOf("post_nms_topn: 2 min_size: 6")
      .Bottom({1, 2, 1, 2}, {0, 0, 0.1, 0.9})
      .Bottom({1, 4, 1, 2}, {0, 0, 0, 0, 0, 0, 0, 0})
      .Bottom({1, 3}, {16, 24, 2})
      .ExpectTop({2, 5}, {0, 0, 0, 16, 15, 0, 0, 0, 16, 15});
  ProposalOf("post_nms_topn: 1 min_size: 100")
      .Bottom({1, 2, 1, 1}, {0, 0.5})
      .Bottom({1, 4, 1, 1}, {0, 0, 0, 0})
      .Bottom({1, 3}, {20, 24, 1})
      .Tops(2)
      .ExpectTop({1, 5}, {0, 0, 0, 23, 19})
      .ExpectTop({1, 1}, {0}, 0, 1);
}

TEST(Proposal, TakesSeveralImagesAndTheBestBeforeSuppression) {
  ProposalOf("pre_nms_topn: 1 post_nms_topn: 1 min_size: 1")
      .Bottom({2, 2, 1, 2}, {0, 0, 1, 2, 0, 0, 4, 3})
      .Bottom({2, 4, 1, 2}, std::vector<double>(16, 0))
      .Bottom({2, 3}, {16, 32, 1, 16, 32, 1})
      .ExpectTop({2, 5}, {0, 16, 0, 31, 15, 1, 0, 0, 16, 15});
}

TEST(Proposal, HasTheRowsOfItsPhaseAndReadsParamStr) {
  const auto with = [](Phase phase) {
    LayerCase c(
        "type: 'Proposal' python_param { param_str: \"'feat_stride': 8\\n"
        "'scales': !!python/tuple [1, 2]\\n'ratios': [1]\" }");
    c.NoGradient().InPhase(phase);
    c.RandomBottom({1, 4, 2, 2}).RandomBottom({1, 8, 2, 2}).Bottom({1, 3}, {99, 99, 1});
    return c;
  };
  with(TRAIN).ExpectTopShape({2000, 5});
  with(TEST).ExpectTopShape({300, 5});
}

TEST(Proposal, ExplainsMistakes) {
  const auto with = [](const std::string& fields, const Shape& scores, const Shape& sizes) {
    LayerCase c = ProposalOf(fields);
    c.RandomBottom(scores).RandomBottom({1, 4, 2, 2}).RandomBottom(sizes);
    return c;
  };
  with("", {1, 18, 2, 2}, {1, 3}).ExpectMistake({"scores", "1x18x2x2", "1 anchors", "1x2x2x2"});
  with("", {1, 2, 2, 2}, {1, 4}).ExpectMistake({"1x4", "height, width and scale"});
  with("", {1, 2, 2, 2}, {2, 3}).ExpectMistake({"image sizes", "1 images"});
  with("", {1, 2}, {1, 3}).ExpectMistake({"4 axes"});
  with("post_nms_topn: 0", {1, 2, 2, 2}, {1, 3})
      .ExpectMistake({"post_nms_topn", "must be positive"});
  with("nms_thresh: 0", {1, 2, 2, 2}, {1, 3}).ExpectMistake({"nms_thresh", "above 0"});
  with("feat_stride: 0", {1, 2, 2, 2}, {1, 3}).ExpectMistake({"feat_stride", "positive number"});
  const auto text = [](const std::string& param_str) {
    LayerCase c("type: 'Proposal' python_param { param_str: \"" + param_str + "\" }");
    c.NoGradient().RandomBottom({1, 18, 1, 1}).RandomBottom({1, 36, 1, 1}).RandomBottom({1, 3});
    return c;
  };
  text("'feat_strid': 16").ExpectMistake({"param_str has 'feat_strid'", "feat_stride"});
  text("'scales': [8, x]").ExpectMistake({"scales in param_str is x", "positive numbers"});
}

}  // namespace
}  // namespace doppio

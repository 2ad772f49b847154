#include "layers/detection/box_matching.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

using Indices = std::vector<int>;

const std::vector<LabeledBox> kObjects = {{{0, 0, 0.4, 0.4}, 1, false},
                                          {{0.2, 0.2, 0.6, 0.6}, 2, false}};
const std::vector<Box> kPriors = {
    {0, 0, 0.4, 0.4},      // overlaps object 0 by 1, object 1 by 1/7
    {0.1, 0.1, 0.5, 0.5},  // overlaps both objects by 0.09 / 0.23
    {0.2, 0.2, 0.6, 0.7},  // overlaps object 0 by 0.125, object 1 by 0.8
    {0.7, 0.7, 0.9, 0.9},  // overlaps no object
    {0.05, 0, 0.4, 0.4},   // overlaps object 0 by 0.875, object 1 by 0.04 / 0.26
    {-0.1, 0, 0.3, 0.4},   // overlaps object 0 by 0.6, object 1 by 0.02 / 0.3
};

Matches Match(const MatchRule& rule, int label = kAnyLabel) {
  Matches matches;
  MatchBoxes(rule, kObjects, label, kPriors, &matches);
  return matches;
}

TEST(MatchBoxes, GivesEachObjectItsBestBox) {
  const Matches matches = Match({false, 0.5, false});
  EXPECT_EQ(matches.object, (Indices{0, -1, 1, -1, -1, -1}));
  const std::vector<double> overlap = {1, 0.09 / 0.23, 0.8, 0, 0.875, 0.6};
  for (size_t i = 0; i < overlap.size(); ++i)
    EXPECT_NEAR(matches.overlap[i], overlap[i], 1e-9) << i;
}

TEST(MatchBoxes, GivesFurtherBoxesTheirBestObject) {
  EXPECT_EQ(Match({true, 0.5, false}).object, (Indices{0, -1, 1, -1, 0, 0}));
  EXPECT_EQ(Match({true, 0.7, false}).object, (Indices{0, -1, 1, -1, 0, -1}));
  // If a prior overlaps two objects equally, it matches the first one.
  EXPECT_EQ(Match({true, 0.39, false}).object, (Indices{0, 0, 1, -1, 0, 0}));
}

TEST(MatchBoxes, MatchesAnObjectEvenWhereItOverlapsLittle) {
  std::vector<Box> priors = {kPriors[3], kPriors[1]};
  Matches matches;
  MatchBoxes({true, 0.9, false}, {kObjects[0]}, kAnyLabel, priors, &matches);
  EXPECT_EQ(matches.object, (Indices{-1, 0}));
}

TEST(MatchBoxes, LeavesOutWhatCrossesTheImage) {
  EXPECT_EQ(Match({true, 0.5, true}).object, (Indices{0, -1, 1, -1, 0, -2}));
}

TEST(MatchBoxes, LooksForOneLabel) {
  EXPECT_EQ(Match({true, 0.5, false}, 2).object, (Indices{-1, -1, 1, -1, -1, -1}));
  EXPECT_EQ(Match({true, 0.5, true}, 3).object, (Indices{-1, -1, -1, -1, -1, -1}));
}

struct Mined {
  Indices object, negatives;
};

Mined Mine(const MiningRule& rule, const Indices& object, const std::vector<double>& overlap,
           const std::vector<double>& loss) {
  Matches matches{object, overlap};
  Mined mined;
  MineBoxes(rule, loss.data(), kPriors, &matches, &mined.negatives);
  mined.object = matches.object;
  return mined;
}

const std::vector<double> kOverlap = {1, 0.6, 0.2, 0.1, 0, 0};
const std::vector<double> kLoss = {0.1, 5, 3, 4, 3, 9};
const Indices kObject = {0, -1, -1, -1, -1, -2};

TEST(MineBoxes, TakesTheHardestNegativesInARatio) {
  MiningRule rule;
  rule.neg_pos_ratio = 2.5;  // room for two negatives
  EXPECT_EQ(Mine(rule, kObject, kOverlap, kLoss).negatives, (Indices{2, 3}));
  EXPECT_EQ(Mine(rule, kObject, kOverlap, kLoss).object, kObject);
  rule.neg_pos_ratio = 9;
  EXPECT_EQ(Mine(rule, kObject, kOverlap, kLoss).negatives, (Indices{2, 3, 4}));
  rule.neg_overlap = 0.7;
  EXPECT_EQ(Mine(rule, kObject, kOverlap, kLoss).negatives, (Indices{1, 2, 3, 4}));
}

TEST(MineBoxes, TakesTheHardestOfAll) {
  MiningRule rule;
  rule.type = MiningType::kHardExample;
  rule.sample_size = 3;  // box 5 is one of the three, but it is ignored
  EXPECT_EQ(Mine(rule, kObject, kOverlap, kLoss).negatives, (Indices{1, 3}));
  EXPECT_EQ(Mine(rule, kObject, kOverlap, kLoss).object, (Indices{-1, -1, -1, -1, -1, -2}));
  rule.sample_size = 64;
  EXPECT_EQ(Mine(rule, kObject, kOverlap, kLoss).object, kObject);
}

TEST(MineBoxes, ThinsOutCandidatesFirst) {
  MiningRule rule;
  rule.type = MiningType::kHardExample;
  rule.nms_threshold = 0.3;
  rule.sample_size = 64;
  // In the order of their losses: 5; 1, which overlaps 5 by 0.06 / 0.26; 3; 2, which overlaps 1 by
  // 0.09 / 0.27; 4 and 0, which overlap 5.
  const Mined mined = Mine(rule, kObject, kOverlap, kLoss);
  EXPECT_EQ(mined.negatives, (Indices{1, 3}));
  EXPECT_EQ(mined.object[0], kNoObject);
  rule.nms_top_k = 2;
  EXPECT_EQ(Mine(rule, kObject, kOverlap, kLoss).negatives, (Indices{1}));
}

TEST(MineBoxes, MayBeLeftOut) {
  MiningRule rule;
  rule.type = MiningType::kNone;
  const Mined mined = Mine(rule, kObject, kOverlap, kLoss);
  EXPECT_TRUE(mined.negatives.empty());
  EXPECT_EQ(mined.object, kObject);
}

}  // namespace
}  // namespace doppio

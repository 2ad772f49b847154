// Tests choices among candidates, by modelled and by measured costs.
#include "core/device/candidates.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

Candidate Costing(const std::string& name, double cost, double least_cost = 0) {
  return {name, least_cost, [cost] { return CandidateTrial{"", cost, ""}; }};
}
Candidate Declining(const std::string& name, const std::string& why) {
  return {name, 0, [why] { return CandidateTrial{why, 0, ""}; }};
}

TEST(Candidates, TheCheapestOfThoseThatDoNotDeclineIsChosen) {
  const CandidateChoice choice =
      ChooseAmong("way", {Declining("a", "it is odd"), Costing("b", 3), Costing("c", 2),
                          Declining("d", "it is even"), Costing("e", 2)});
  EXPECT_EQ(choice.what, "way");
  EXPECT_EQ(choice.chosen, 2);
  EXPECT_EQ(choice.Declined(), "a: it is odd; d: it is even");
  EXPECT_EQ(choice.Declined(1), "d: it is even");
  EXPECT_EQ(choice.Others(), "a: it is odd; d: it is even; not better: b, e");
}

TEST(Candidates, AreNotTriedIfTheyCannotCostLess) {
  const CandidateChoice choice =
      ChooseAmong("way", {Costing("a", 2, 2), Costing("b", 1, 1), Costing("c", 1, 1)});
  EXPECT_EQ(choice.chosen, 1);
  EXPECT_TRUE(choice.rows[0].tried && choice.rows[1].tried);
  EXPECT_FALSE(choice.rows[2].tried);
}

TEST(Candidates, AreAllDeclined) {
  EXPECT_EQ(ChooseAmong("way", {Declining("a", "it is odd")}).chosen, -1);
  EXPECT_EQ(ChooseAmong("way", {}).chosen, -1);
}

TEST(Candidates, APreferredOneIsChosenUnlessItDeclines) {
  const std::vector<Candidate> candidates = {Costing("a", 1), Costing("b", 5),
                                             Declining("c", "it is odd")};
  EXPECT_EQ(ChooseAmong("way", candidates, "b").chosen, 1);
  EXPECT_EQ(ChooseAmong("way", candidates, "c").chosen, 0);
  EXPECT_EQ(ChooseAmong("way", candidates, "unknown").chosen, 0);
}

TEST(MeasuredChoices, AreRepeatedFromTheirLines) {
  MeasuredChoices first, second;
  ChooseMeasured(&first, "x = 3", "way", {Costing("a", 1), Costing("b", 2)});
  ChooseMeasured(&first, "w", "way", {Costing("c", 1)});
  EXPECT_EQ(first.lines(), (std::vector<std::string>{"w = c", "x = 3 = a"}));
  second.Replay({"x = 3 = b", "other = c", "no choice"});
  EXPECT_EQ(second.lines(), std::vector<std::string>());
  EXPECT_EQ(ChooseMeasured(&second, "x = 3", "way", {Costing("a", 1), Costing("b", 2)}).chosen, 1);
  EXPECT_EQ(second.lines(), std::vector<std::string>{"x = 3 = b"});
}

TEST(MeasuredChoices, AreMeasuredAgainIfTheyAreNotPossible) {
  MeasuredChoices measured;
  measured.Replay({"x = b"});
  EXPECT_EQ(
      ChooseMeasured(&measured, "x", "way", {Costing("a", 1), Declining("b", "it is odd")}).chosen,
      0);
  EXPECT_EQ(measured.lines(), std::vector<std::string>{"x = a"});
}

}  // namespace
}  // namespace doppio

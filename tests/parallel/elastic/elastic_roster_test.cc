#include "parallel/elastic/elastic_roster.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

// Returns a roster of ranks whose states are those of `iterations`.
ElasticRoster RosterOf(const std::vector<int64_t>& iterations) {
  ElasticRoster roster;
  for (const int64_t iteration : iterations) roster.places.push_back({0, iteration, {}, {}});
  return roster;
}

TEST(ElasticRoster, NamesTheLowestRankWithTheNewestState) {
  EXPECT_EQ(RosterOf({}).newest_rank(), -1);
  EXPECT_EQ(RosterOf({-1, -1}).newest_rank(), -1);
  EXPECT_EQ(RosterOf({-1, 0}).newest_rank(), 1);
  EXPECT_EQ(RosterOf({3, 7, 7, -1}).newest_rank(), 1);
}

TEST(ElasticRoster, KnowsWhetherSomeRanksAreBehind) {
  EXPECT_FALSE(RosterOf({}).some_are_behind());
  EXPECT_FALSE(RosterOf({5, 5}).some_are_behind());
  EXPECT_TRUE(RosterOf({5, 4}).some_are_behind());
  EXPECT_TRUE(RosterOf({-1, 4}).some_are_behind());
}

}  // namespace
}  // namespace doppio

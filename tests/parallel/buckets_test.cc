#include "parallel/reduce/buckets.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

using Ends = std::vector<size_t>;

TEST(Buckets, AreFullWhenTheySpanTheLeastSize) {
  // 40 + 60 = 100 completes a bucket; 99 does not, but 99 + 1 does; the rest is a small bucket.
  EXPECT_EQ(CutBuckets({{0, 40}, {40, 100}, {100, 199}, {199, 200}, {200, 210}}, 100),
            (Ends{2, 4, 5}));
}

TEST(Buckets, CountTheGapsBetweenGradients) {
  EXPECT_EQ(CutBuckets({{0, 10}, {64, 74}, {128, 138}}, 70), (Ends{2, 3}));
}

TEST(Buckets, OfNoSizeHoldOneGradientEach) {
  EXPECT_EQ(CutBuckets({{0, 1}, {1, 2}, {2, 3}}, 0), (Ends{1, 2, 3}));
}

TEST(Buckets, OfGreatSizeAreOne) {
  EXPECT_EQ(CutBuckets({{0, 1}, {1, 2}, {2, 3}}, int64_t{1} << 50), (Ends{3}));
}

TEST(Buckets, OfNothingAreNone) { EXPECT_EQ(CutBuckets({}, 100), Ends()); }

}  // namespace
}  // namespace doppio

#include "parallel/reduce/shares.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

using Cuts = std::vector<int64_t>;

TEST(Shares, AreEvenUpToAVector) {
  // 1000 / 3 = 333.3, and 2 * 1000 / 3 = 666.6; 333 = 5 * 64 + 13, and 666 = 10 * 64 + 26.
  EXPECT_EQ(EvenCut(1000, 3, 0), 0);
  EXPECT_EQ(EvenCut(1000, 3, 1), 320);
  EXPECT_EQ(EvenCut(1000, 3, 2), 640);
  EXPECT_EQ(EvenCut(1000, 3, 3), 1000);
}

TEST(Shares, OfABucketEqualTheEvenOnesForAUnitOf64) {
  const int64_t begin = 64 * 7, count = 64 * 50 + 3;
  for (int ranks : {1, 2, 3, 7}) {
    Cuts even;
    for (int r = 0; r <= ranks; ++r) even.push_back(EvenCut(count, ranks, r));
    EXPECT_EQ(ShareCuts(begin, begin + count, {begin, begin + 640}, ranks, 64), even) << ranks;
  }
}

TEST(Shares, MeetAtParametersAndAtMultiplesOfTheUnit) {
  // The even cuts are at 1536, 2560 and 3584. The first is inside a parameter that has no multiple
  // of 1024 before it, so the cut is its start.
  EXPECT_EQ(ShareCuts(512, 4608, {512, 1088, 1600}, 4, 1024),
            (Cuts{0, 1088 - 512, 2048 - 512, 3072 - 512, 4096}));
  // A bucket of one small parameter has one share.
  EXPECT_EQ(ShareCuts(64, 164, {64}, 3, 1 << 15), (Cuts{0, 0, 0, 100}));
}

TEST(Shares, MayBeEmpty) { EXPECT_EQ(ShareCuts(128, 129, {128}, 4, 64), (Cuts{0, 0, 0, 0, 1})); }

}  // namespace
}  // namespace doppio

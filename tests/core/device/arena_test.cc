#include "core/device/arena.h"

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace doppio {
namespace {

Lifetime Block(int64_t bytes, int first, int last) {
  Lifetime life;
  life.bytes = bytes;
  life.first = first;
  life.last = last;
  return life;
}

TEST(PlaceBlocks, SharesMemoryOfBlocksThatNeverMeet) {
  std::vector<Lifetime> blocks = {Block(1024, 0, 1), Block(1024, 2, 3), Block(512, 1, 2)};
  EXPECT_EQ(PlaceBlocks(&blocks), 1024 + 512);
  EXPECT_EQ(blocks[0].offset, blocks[1].offset);
  EXPECT_EQ(blocks[2].offset, 1024);
}

TEST(PlaceBlocks, KeepsBothWhenOneEndsWhereTheOtherBegins) {
  std::vector<Lifetime> blocks = {Block(256, 0, 2), Block(256, 2, 4)};
  EXPECT_EQ(PlaceBlocks(&blocks), 512);
}

TEST(PlaceBlocks, TakesTheSmallestGapThatFits) {
  // 4096 | 512 at the end leave a hole of 2048 at time 5 once the middle has gone.
  std::vector<Lifetime> blocks = {Block(4096, 0, 9), Block(2048, 0, 4), Block(1024, 0, 9),
                                  Block(512, 5, 9)};
  EXPECT_EQ(PlaceBlocks(&blocks), 4096 + 2048 + 1024);
  EXPECT_EQ(blocks[3].offset, 4096);
}

TEST(PlaceBlocks, NeverOverlapsBlocksThatAreAliveTogether) {
  const Random random(5, 6);
  std::vector<Lifetime> blocks;
  for (uint64_t i = 0; i < 300; ++i) {
    const int first = static_cast<int>(random.Below(100, 0, i));
    blocks.push_back(Block(1 + random.Below(100000, 1, i), first,
                           first + static_cast<int>(random.Below(20, 2, i))));
  }
  const int64_t total = PlaceBlocks(&blocks);
  int64_t sum = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].offset % 256, 0);
    EXPECT_LE(blocks[i].offset + blocks[i].bytes, total);
    sum += blocks[i].bytes;
    for (size_t j = 0; j < i; ++j) {
      const bool together = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
      const bool apart = blocks[i].offset >= blocks[j].offset + blocks[j].bytes ||
                         blocks[j].offset >= blocks[i].offset + blocks[i].bytes;
      ASSERT_TRUE(!together || apart) << i << " and " << j;
    }
  }
  EXPECT_LT(total, sum / 2);
}

}  // namespace
}  // namespace doppio

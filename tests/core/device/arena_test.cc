#include "core/device/arena.h"

#include <gtest/gtest.h>

#include <algorithm>

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

// Comparing each with all others would take minutes.
TEST(PlaceBlocks, TakesNoTimeForEmptyBlocks) {
  std::vector<Lifetime> blocks(300'000, Block(0, 0, 9));
  blocks.push_back(Block(1024, 0, 9));
  EXPECT_EQ(PlaceBlocks(&blocks), 1024);
  EXPECT_EQ(blocks[0].offset, 0);
}

TEST(PlaceBlocks, KeepsBothWhenOneEndsWhereTheOtherBegins) {
  std::vector<Lifetime> blocks = {Block(256, 0, 2), Block(256, 2, 4)};
  EXPECT_EQ(PlaceBlocks(&blocks), 512);
}

TEST(PlaceBlocks, TakesTheSmallestGapThatFits) {
  // The block of 2048 dies after time 4 and leaves a gap between the other two. The block of 512
  // must use that gap.
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

Lifetime Block(int64_t bytes, std::vector<Span> lives) {
  Lifetime life = Block(bytes, lives.front().first, lives.back().last);
  for (size_t i = 1; i < lives.size(); ++i) {
    life.holes.push_back({lives[i - 1].last + 1, lives[i].first - 1});
  }
  return life;
}

TEST(PlaceBlocks, LetsOthersLiveInHoles) {
  std::vector<Lifetime> blocks = {Block(1024, {{0, 1}, {8, 9}}), Block(1024, 2, 7)};
  EXPECT_EQ(PlaceBlocks(&blocks), 1024);
  EXPECT_EQ(blocks[0].offset, blocks[1].offset);
}

TEST(PlaceBlocks, KeepsApartWhatReachesOutOfAHole) {
  for (const Span& life : {Span{1, 7}, Span{2, 8}, Span{0, 9}, Span{9, 9}}) {
    std::vector<Lifetime> blocks = {Block(1024, {{0, 1}, {8, 9}}),
                                    Block(1024, life.first, life.last)};
    EXPECT_EQ(PlaceBlocks(&blocks), 2048) << life.first << " to " << life.last;
  }
}

TEST(PlaceBlocks, SharesMemoryOfBlocksThatMeetOnlyInTheirHoles) {
  // The first two blocks take turns, and the third lives while neither of them does.
  std::vector<Lifetime> blocks = {Block(512, {{0, 1}, {4, 5}, {9, 9}}),
                                  Block(512, {{2, 3}, {7, 8}}), Block(512, 6, 6)};
  EXPECT_EQ(PlaceBlocks(&blocks), 512);
}

bool AliveAt(const Lifetime& life, int step) {
  return step >= life.first && step <= life.last &&
         std::none_of(life.holes.begin(), life.holes.end(),
                      [&](const Span& hole) { return step >= hole.first && step <= hole.last; });
}

TEST(PlaceBlocks, NeverOverlapsBlocksWithHolesThatAreAliveTogether) {
  const Random random(7, 8);
  constexpr int kSteps = 120;
  std::vector<Lifetime> blocks;
  for (uint64_t i = 0; i < 200; ++i) {
    std::vector<Span> lives;
    int step = static_cast<int>(random.Below(40, 0, i));
    for (uint64_t k = 0; k <= random.Below(3, 1, i); ++k) {
      const int last = step + static_cast<int>(random.Below(8, 2 + k, i));
      lives.push_back({step, last});
      step = last + 2 + static_cast<int>(random.Below(12, 5 + k, i));
    }
    blocks.push_back(Block(1 + random.Below(50000, 9, i), lives));
  }
  std::vector<Lifetime> whole = blocks;
  for (Lifetime& block : whole) block.holes.clear();
  const int64_t total = PlaceBlocks(&blocks);
  EXPECT_LT(total, PlaceBlocks(&whole));
  for (int step = 0; step < kSteps; ++step) {
    std::vector<const Lifetime*> alive;
    for (const Lifetime& block : blocks) {
      if (AliveAt(block, step)) alive.push_back(&block);
    }
    std::sort(alive.begin(), alive.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
    for (size_t i = 1; i < alive.size(); ++i) {
      ASSERT_LE(alive[i - 1]->offset + alive[i - 1]->bytes, alive[i]->offset) << "at " << step;
    }
    if (alive.empty()) continue;
    ASSERT_LE(alive.back()->offset + alive.back()->bytes, total);
  }
}

}  // namespace
}  // namespace doppio

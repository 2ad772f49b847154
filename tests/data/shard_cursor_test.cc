#include "data/pipeline/shard_cursor.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

TEST(ShardCursor, DividesTheStreamAmongRanksBatchByBatch) {
  ShardCursor cursor(2);
  EXPECT_EQ(cursor.next_sample(), 0);
  EXPECT_TRUE(cursor.Shard(1, 3));
  EXPECT_FALSE(cursor.Shard(1, 3));
  EXPECT_EQ(cursor.next_sample(), 2);
  EXPECT_EQ(cursor.next_sample(2), 2 + 2 * 3 * 2);
  cursor.Advance();
  EXPECT_EQ(cursor.next_sample(), 6 + 2);
  EXPECT_EQ(cursor.position(), 6);
}

TEST(ShardCursor, KeepsItsPositionForAnotherNumberOfRanks) {
  ShardCursor cursor(2);
  cursor.Shard(1, 3);
  cursor.Advance();
  EXPECT_TRUE(cursor.Shard(1, 2));
  EXPECT_EQ(cursor.position(), 6);
  EXPECT_EQ(cursor.next_sample(), 8);
  cursor.Seek(20);
  EXPECT_EQ(cursor.next_sample(), 22);
}

}  // namespace
}  // namespace doppio

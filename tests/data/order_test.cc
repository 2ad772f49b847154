#include "data/pipeline/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace doppio {
namespace {

std::vector<int64_t> Epoch(const SampleOrder& order, int64_t epoch, int64_t size) {
  std::vector<int64_t> records;
  for (int64_t i = 0; i < size; ++i) records.push_back(order.Record(epoch * size + i));
  return records;
}

std::vector<int64_t> Sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<int64_t> UpTo(int64_t n) {
  std::vector<int64_t> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(SampleOrder, WalksThroughTheRecordsAgainAndAgain) {
  const SampleOrder order(3, false, Random(1, 2), 0);
  EXPECT_EQ(Epoch(order, 0, 3), UpTo(3));
  EXPECT_EQ(Epoch(order, 7, 3), UpTo(3));
  EXPECT_EQ(order.Epoch(5), 1);
  EXPECT_EQ(order.Position(5), 2);
}

TEST(SampleOrder, StartsLaterWhenRecordsAreSkipped) {
  const SampleOrder order(5, false, Random(1, 2), 3);
  EXPECT_EQ(order.Record(0), 3);
  EXPECT_EQ(order.Record(2), 0);
}

TEST(SampleOrder, VisitsEachRecordOncePerShuffledEpoch) {
  for (int64_t size : {1, 2, 3, 4, 5, 7, 10, 63, 64, 65, 1000, 60000}) {
    const SampleOrder order(size, true, Random(1, 2), 0);
    for (int64_t epoch : {0, 1, 5}) {
      EXPECT_EQ(Sorted(Epoch(order, epoch, size)), UpTo(size)) << size << " epoch " << epoch;
    }
  }
}

TEST(SampleOrder, ShufflesEachEpochAndEachSeedDifferently) {
  const SampleOrder order(100, true, Random(1, 2), 0), other(100, true, Random(2, 2), 0);
  const std::vector<int64_t> first = Epoch(order, 0, 100);
  EXPECT_NE(first, UpTo(100));
  EXPECT_NE(first, Epoch(order, 1, 100));
  EXPECT_NE(first, Epoch(other, 0, 100));
  EXPECT_EQ(first, Epoch(order, 0, 100));
}

TEST(SampleOrder, ShufflesBlocksAndTheRecordsInThem) {
  const SampleOrder order(9, true, Random(1, 2), 0, {3, 0, 2, 4});
  std::set<std::vector<int64_t>> starts;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const std::vector<int64_t> records = Epoch(order, epoch, 9);
    EXPECT_EQ(Sorted(records), UpTo(9));
    std::vector<int64_t> begins;
    for (int64_t at = 0, next = 0; at < 9; at = next) {
      next = order.BlockEnd(epoch * 9 + at) - epoch * 9;
      const std::vector<int64_t> block = Sorted({records.begin() + at, records.begin() + next});
      begins.push_back(block[0]);
      for (size_t i = 0; i < block.size(); ++i)
        EXPECT_EQ(block[i], block[0] + static_cast<int64_t>(i));
    }
    EXPECT_EQ(Sorted(begins), (std::vector<int64_t>{0, 3, 5}));
    starts.insert(begins);
  }
  EXPECT_GT(starts.size(), 3u);
}

// A class of 5 records, one of 1 and one of 2.
GroupRule RuleOfClasses(bool shuffle) {
  GroupRule rule;
  rule.shuffle = shuffle;
  rule.classes = std::make_shared<ClassLists>(ClassLists{{0, 1, 3, 4, 7}, {2}, {5, 6}});
  return rule;
}

TEST(SampleOrder, TakesTheClassesInTurn) {
  const SampleOrder order(RuleOfClasses(false), 8, 1);
  EXPECT_EQ(Epoch(order, 0, 8), (std::vector<int64_t>{0, 2, 5, 1, 2, 6, 3, 2}));
  EXPECT_EQ(Epoch(order, 1, 8), (std::vector<int64_t>{5, 4, 2, 6, 7, 2, 5, 0}));
  EXPECT_EQ(order.Epoch(8), 1);  // an epoch keeps its length
  EXPECT_EQ(order.BlockEnd(3), 8);
}

TEST(SampleOrder, ShufflesTheClassesAndTheirRecords) {
  const SampleOrder order(RuleOfClasses(true), 8, 1), other(RuleOfClasses(true), 8, 2);
  std::vector<int64_t> large, all, of_other;
  std::set<int64_t> firsts;
  for (int64_t turn = 0; turn < 50; ++turn) {
    std::vector<int64_t> records;
    for (int64_t i = 3 * turn; i < 3 * turn + 3; ++i) {
      records.push_back(order.Record(i));
      of_other.push_back(other.Record(i));
      if (records.back() != 2 && records.back() != 5 && records.back() != 6)
        large.push_back(records.back());
    }
    firsts.insert(records[0] == 2 ? 1 : records[0] == 5 || records[0] == 6 ? 2 : 0);
    all.insert(all.end(), records.begin(), records.end());
    records = Sorted(records);
    EXPECT_EQ(std::count(records.begin(), records.end(), 2), 1) << "turn " << turn;
    EXPECT_EQ(large.size(), static_cast<size_t>(turn) + 1);
  }
  EXPECT_EQ(firsts.size(), 3u);
  EXPECT_NE(all, of_other);
  std::set<std::vector<int64_t>> orders;
  for (size_t at = 0; at < large.size(); at += 5) {
    const std::vector<int64_t> pass(large.begin() + static_cast<std::ptrdiff_t>(at),
                                    large.begin() + static_cast<std::ptrdiff_t>(at) + 5);
    EXPECT_EQ(Sorted(pass), (std::vector<int64_t>{0, 1, 3, 4, 7}));
    orders.insert(pass);
  }
  EXPECT_GT(orders.size(), 5u);
}

TEST(SampleOrder, ReadsTheUsableRecordInPlaceOfABadOne) {
  GroupRule rule;
  const SampleOrder alone(rule, 4, 1);
  EXPECT_FALSE(alone.tests_records());
  EXPECT_EQ(alone.UsableRecord(5), 1);
  rule.usable = [](int64_t record) { return record == 1 ? 2 : record; };
  const SampleOrder group(rule, 4, 1);
  EXPECT_TRUE(group.tests_records());
  EXPECT_EQ(group.Record(5), 1);
  EXPECT_EQ(group.UsableRecord(5), 2);
  EXPECT_EQ(group.UsableRecord(7), 3);
}

TEST(SampleOrder, OfASourceAloneHasTheSaltOfTheSource) {
  SampleSet samples;
  samples.shuffle = true;
  samples.rand_skip = 7;
  samples.blocks = {3, 4};
  samples.order_salt = 5;
  const GroupRule rule = RuleAlone(samples, 9);
  EXPECT_TRUE(rule.shuffle);
  EXPECT_EQ(rule.rand_skip, 7u);
  EXPECT_EQ(rule.blocks, samples.blocks);
  EXPECT_EQ(rule.stream, 9u);
  EXPECT_EQ(rule.order_stream, 9u ^ 5u);
  EXPECT_FALSE(rule.usable);
}

// Each of 20 records should come first equally often: chi-square with 19 degrees of freedom is
// below 49.6 with probability 0.9999. The same holds for the record that follows record 0.
TEST(SampleOrder, HasNoFavourites) {
  constexpr int64_t kSize = 20, kEpochs = 4000;
  const SampleOrder order(kSize, true, Random(11, 22), 0);
  std::map<int64_t, int> first, follower;
  int followed = 0;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<int64_t> records = Epoch(order, epoch, kSize);
    ++first[records[0]];
    const auto zero = std::find(records.begin(), records.end(), 0);
    if (zero + 1 == records.end()) continue;
    ++follower[*(zero + 1)];
    ++followed;
  }
  auto chi2 = [](const std::map<int64_t, int>& counts, double expected) {
    double sum = 0;
    for (const auto& entry : counts)
      sum += (entry.second - expected) * (entry.second - expected) / expected;
    return sum;
  };
  EXPECT_EQ(first.size(), 20u);
  EXPECT_LT(chi2(first, kEpochs / 20.0), 49.6);
  EXPECT_EQ(follower.size(), 19u);
  EXPECT_LT(chi2(follower, followed / 19.0), 48.0);
}

}  // namespace
}  // namespace doppio

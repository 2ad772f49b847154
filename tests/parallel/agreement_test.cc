#include "parallel/world/agreement.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "parallel/meeting/texts.h"
#include "parallel/world/threads.h"

namespace doppio {
namespace {

// Returns what f(communicator) returns on each rank.
template <class F>
auto OnEveryRank(int size, const F& f) {
  auto ends = MakeThreadTeam(size);
  std::vector<decltype(f(ends[0].get()))> results(ends.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ends.size(); ++r)
    threads.emplace_back([&, r] { results[r] = f(ends[r].get()); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

// Compares ranks that have these facts. Returns the message, which must be the same on all ranks.
std::string Compare(const std::vector<Facts>& facts) {
  const auto texts = OnEveryRank(static_cast<int>(facts.size()), [&](Communicator* control) {
    const size_t rank = static_cast<size_t>(control->rank());
    return DifferenceFromRankZero(control, "node" + std::to_string(rank), facts[rank]);
  });
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
  return texts[0];
}

TEST(Texts, ReachAllRanks) {
  const auto texts = OnEveryRank(3, [](Communicator* control) {
    return BroadcastText(control, "from " + std::to_string(control->rank()), 1) +
           BroadcastText(control, "", 0);
  });
  EXPECT_EQ(texts, std::vector<std::string>(3, "from 1"));
}

TEST(Texts, AreGatheredByRank) {
  const std::vector<std::string> own = {"", std::string(5000, 'x'), "", "y"};
  const auto texts = OnEveryRank(4, [&](Communicator* control) {
    return GatherTexts(control, own[static_cast<size_t>(control->rank())]);
  });
  for (const auto& gathered : texts) EXPECT_EQ(gathered, own);
}

TEST(Agreement, SaysNothingOfEqualRanks) {
  const Facts facts = {{"--bucket_mb", "16"}, {"solver base_lr", "0.01"}, {"weights", ""}};
  EXPECT_EQ(Compare({facts, facts, facts}), "");
  EXPECT_EQ(Compare({facts}), "");
}

TEST(Agreement, SaysWhichRankDiffersInWhat) {
  EXPECT_EQ(Compare({{{"--bucket_mb", "16"}, {"base_lr", "0.01"}},
                     {{"--bucket_mb", "16"}, {"base_lr", "0.01"}},
                     {{"--bucket_mb", "4"}, {"base_lr", "0.02"}}}),
            "rank 2 on node2: --bucket_mb is 4, on rank 0 it is 16; base_lr is 0.02, on rank 0 it "
            "is 0.01");
}

TEST(Agreement, KnowsFactsThatOneRankLacks) {
  EXPECT_EQ(Compare({{{"a", "1"}}, {{"b", ""}}}),
            "rank 1 on node1: a is not set, on rank 0 it is 1; b is empty, on rank 0 it is not "
            "set");
}

TEST(Agreement, NamesAFewOfManyDifferences) {
  Facts many;
  for (char name = 'a'; name < 'g'; ++name) many[std::string(1, name)] = std::string(100, 'x');
  const std::string shown = std::string(80, 'x') + "...";
  EXPECT_EQ(Compare({{}, many}),
            "rank 1 on node1: a is " + shown + ", on rank 0 it is not set; b is " + shown +
                ", on rank 0 it is not set; c is " + shown + ", on rank 0 it is not set; d is " +
                shown + ", on rank 0 it is not set; and 2 more");
  std::vector<Facts> ranks(7, Facts{{"a", "2"}});
  ranks[0]["a"] = "1";
  const std::string text = Compare(ranks);
  EXPECT_NE(text.find("rank 4 on node4: a is 2, on rank 0 it is 1; and 2 more ranks"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace doppio

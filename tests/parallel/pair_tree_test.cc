#include "parallel/gpu/pair_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace doppio {
namespace {

std::string Text(const std::vector<RankPair>& pairs) {
  std::string text;
  for (const RankPair& pair : pairs) {
    text +=
        (text.empty() ? "" : " ") + std::to_string(pair.parent) + "<" + std::to_string(pair.child);
  }
  return text;
}

// Returns the tree for a machine in which the pairs of `close` are closer than the rest.
using Close = std::map<std::pair<int, int>, Closeness>;
std::string Tree(int size, const Close& close, Closeness rest = Closeness::kThroughHost) {
  return Text(PairTree(size, [&](int i, int j) {
    EXPECT_LT(i, j);
    const auto found = close.find({i, j});
    return found == close.end() ? rest : found->second;
  }));
}

TEST(PairTree, OfOneIsEmpty) { EXPECT_EQ(Tree(1, {}), ""); }

TEST(PairTree, GoesInListOrderWhereGpusAreAlike) {
  EXPECT_EQ(Tree(2, {}), "0<1");
  EXPECT_EQ(Tree(4, {}), "0<1 2<3 0<2");
  EXPECT_EQ(Tree(4, {}, Closeness::kPeers), "0<1 2<3 0<2");
  EXPECT_EQ(Tree(3, {}), "0<1 0<2");
  EXPECT_EQ(Tree(7, {}), "0<1 2<3 4<5 0<2 4<6 0<4");
  EXPECT_EQ(Tree(8, {}), "0<1 2<3 4<5 6<7 0<2 4<6 0<4");
}

// The example of Caffe's docs/multigpu.md: "0:1 and 2:3 exchange, then 0:2".
TEST(PairTree, PairsBoardsFirst) {
  EXPECT_EQ(
      Tree(4, {{{0, 2}, Closeness::kOneBoard}, {{1, 3}, Closeness::kOneBoard}}, Closeness::kPeers),
      "0<2 1<3 0<1");
}

TEST(PairTree, PairsPeersBeforeGpusThatOnlyTheHostJoins) {
  // Two processor sockets: GPUs are peers within a socket, not across sockets.
  Close close;
  for (const std::vector<int>& socket : {std::vector<int>{0, 3, 5}, std::vector<int>{1, 2, 4}}) {
    for (int i : socket) {
      for (int j : socket) close[{i, j}] = Closeness::kPeers;
    }
  }
  EXPECT_EQ(Tree(6, close), "0<3 1<2 0<5 1<4 0<1");
}

TEST(PairTree, SumsRanksOfOneGpuFirst) {
  EXPECT_EQ(
      Tree(4, {{{0, 3}, Closeness::kOneGpu}, {{0, 1}, Closeness::kOneBoard}}, Closeness::kPeers),
      "0<3 0<1 0<2");
}

TEST(PairTree, TakesEveryRankInOnceWhateverTheMachine) {
  for (int size = 1; size <= 17; ++size) {
    for (int kind = 0; kind < 20; ++kind) {
      const std::vector<RankPair> pairs = PairTree(size, [&](int i, int j) {
        return static_cast<Closeness>((i * 7 + j * 13 + i * j * kind) % 4);
      });
      ASSERT_EQ(pairs.size(), static_cast<size_t>(size - 1));
      std::set<int> gone;
      for (const RankPair& pair : pairs) {
        EXPECT_EQ(gone.count(pair.parent), 0u);  // the parent must still hold its sum
        EXPECT_TRUE(gone.insert(pair.child).second);
      }
      EXPECT_EQ(gone.count(0), 0u);
    }
  }
}

}  // namespace
}  // namespace doppio

// Tests updates that ranks divide among themselves, one rank after the other in one thread. Rules
// whose ranks exchange norms are tested with threads in tests/parallel/sharded_update_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/base/error.h"
#include "solvers/update/rule_check.h"
#include "tests/solvers/param_store_case.h"
#include "tests/solvers/update_variants.h"

namespace doppio {
namespace {

// A rank of a world whose exchanges the test makes.
class PlayedRank : public Communicator {
 public:
  PlayedRank(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void AllReduce(void*, int64_t, DType) override { ++sums; }
  void Broadcast(void* data, int64_t bytes, int root) override { broadcast(data, bytes, root); }
  void Barrier() override {}
  void Abort(const std::string&) override {}

  int sums = 0;
  std::function<void(void* data, int64_t bytes, int root)> broadcast;

 private:
  const int rank_, size_;
};

// Backward completes the last parameter first. The last two have no gradient, so they come last in
// the arenas, and the one before them has several chunks.
std::vector<ParamCase> Cases() {
  ParamCase frozen{Shape{50}, 3};
  frozen.gradient = false;
  return {frozen, {Shape{7}, 1, 2, 0}, {Shape{100'003}, 2}, {Shape{300}, -1}};
}

// In elements of the arenas: 320 of parameter 3, 100,032 of parameter 2, 64 of parameter 1 and 64
// of the frozen one. Rank 1 has nothing in the second bucket.
const UpdateShares kShares = {
    {{0, 192}, {320, 40'000}, {100'352, 100'359}}, {{192, 300}}, {{40'000, 100'323}}};

void SetGradients(ParamStoreCase* c) {
  const Tensor grads = c->store().arenas().grads();
  for (int64_t i = 0; i < grads.stored(); ++i)
    grads.data<float>()[i] = std::sin(static_cast<float>(i));
}

Update MakeShare(const std::string& solver, ParamStore* store, PlayedRank* rank) {
  SolverParameter param;
  const FieldPlaces places = ParseText(solver, "solver.prototxt", &param);
  return Update(param, places, store, param.max_iter(), {&kShares, rank});
}

constexpr const char* kDecay = " weight_decay: 0.01";

TEST(SharedUpdate, OfEachRankGivesTheBitsOfTheWhole) {
  for (const std::string& solver : RulesAndVariants()) {
    SolverParameter param;
    ParseText(solver, "solver.prototxt", &param);
    if (NeedsNorms(param) || UpdatesMatrices(param)) continue;
    ParamStoreCase whole(Cases(), DType::kFloat32);
    Update all = MakeUpdate(solver + kDecay, &whole.store());
    for (int iteration = 0; iteration < 3; ++iteration) {
      SetGradients(&whole);
      all.Run(0.1, iteration, 1);
    }
    for (const bool by_parameter : {false, true}) {
      for (int rank = 0; rank < 3; ++rank) {
        SCOPED_TRACE(solver + " on rank " + std::to_string(rank));
        ParamStoreCase c(Cases(), DType::kFloat32);
        PlayedRank played(rank, 3);
        Update share = MakeShare(solver + kDecay, &c.store(), &played);
        const std::vector<float> before(
            c.store().arenas().values().data<float>(),
            c.store().arenas().values().data<float>() + c.store().arenas()[0].size);
        for (int iteration = 0; iteration < 3; ++iteration) {
          SetGradients(&c);
          if (by_parameter) {
            share.early().Begin(0.1, iteration);
            for (int i : {3, 2, 1}) share.early().Ready(i);
            share.early().Finish();
          } else {
            share.Run(0.1, iteration, 1);
          }
        }
        const auto owns = [&](int64_t i) {
          if (i >= c.store().param(0).offset) return true;  // the frozen parameter
          for (const ArenaRange& range : kShares[rank]) {
            if (range.begin <= i && i < range.end) return true;
          }
          return false;
        };
        for (int64_t i = 0; i < c.store().arenas()[0].size; ++i) {
          const float expected =
              owns(i) ? whole.store().arenas().values().data<float>()[i] : before[i];
          ASSERT_EQ(c.store().arenas().values().data<float>()[i], expected) << "element " << i;
        }
        EXPECT_EQ(played.sums, 0);
        EXPECT_EQ(share.passes().NonFiniteParam(), std::nullopt);
      }
    }
  }
}

TEST(SharedUpdate, KeepsTheHistoryOfTheShareOnly) {
  for (int rank = 0; rank < 3; ++rank) {
    ParamStoreCase c(Cases(), DType::kFloat32);
    PlayedRank played(rank, 3);
    const Update share = MakeShare("type: 'Adam' delta: 1e-3", &c.store(), &played);
    // Each range is rounded up to 64 elements, and all ranks have the 64 of the frozen parameter.
    const int64_t elements[] = {192 + 39'680 + 64 + 64, 128 + 64, 60'352 + 64};
    ASSERT_EQ(share.history().arenas().size(), 2u);
    for (const Tensor& arena : share.history().arenas())
      EXPECT_EQ(arena.bytes(), 4 * elements[rank]) << rank;
    EXPECT_EQ(share.history().largest_bytes(), 2 * 4 * elements[2]);
  }
}

std::vector<PlainBlob> NumberedHistory(const ParamStore& store) {
  std::vector<PlainBlob> blobs;
  for (int i : store.learnable()) {
    PlainBlob blob{store.params()[i].shape, {}};
    for (int64_t k = 0; k < blob.shape.count(); ++k)
      blob.data.push_back(static_cast<float>(k + 1000 * i));
    blobs.push_back(blob);
  }
  return blobs;
}

TEST(SharedUpdate, TakesItsShareOfASnapshotAndGathersAllOnRankZero) {
  // The data that the other ranks broadcast, in the order of the calls.
  std::vector<std::vector<char>> sent;
  std::vector<PlainBlob> blobs;
  for (int rank : {1, 2, 0}) {
    ParamStoreCase c(Cases(), DType::kFloat32);
    blobs = NumberedHistory(c.store());
    PlayedRank played(rank, 3);
    Update share = MakeShare("momentum: 0.9", &c.store(), &played);
    share.history().Import(blobs, "a.solverstate");
    size_t call = 0;
    played.broadcast = [&](void* data, int64_t bytes, int root) {
      char* const at = static_cast<char*>(data);
      if (root == rank) sent.emplace_back(at, at + bytes);
      if (rank != 0) return;
      ASSERT_EQ(static_cast<int64_t>(sent[call].size()), bytes);
      std::copy(sent[call].begin(), sent[call].end(), at);
      ++call;
    };
    const WholeHistory whole = share.history().Gather(&played);
    ASSERT_EQ(whole.blobs.size(), rank == 0 ? blobs.size() : 0u);
    for (size_t i = 0; i < whole.blobs.size(); ++i) {
      EXPECT_EQ(ReadTensor(whole.blobs[i], c.store().device()).data, blobs[i].data) << i;
    }
    if (rank == 0) {
      EXPECT_EQ(call, sent.size());
    }
  }
}

TEST(SharedUpdate, FindsNonFiniteValuesOfItsShareOnly) {
  for (int rank = 0; rank < 3; ++rank) {
    ParamStoreCase c(Cases(), DType::kFloat32);
    PlayedRank played(rank, 3);
    Update share = MakeShare("momentum: 0.9", &c.store(), &played);
    SetGradients(&c);
    c.SetGradient(2, 50'000, INFINITY);
    share.Run(0.1, 0, 1);
    EXPECT_EQ(share.passes().NonFiniteParam(), rank == 2 ? std::optional(2) : std::nullopt) << rank;
  }
}

}  // namespace
}  // namespace doppio

// Tests averages of the weights (ema_decay) with several ranks. sharded_update_test.cc compares
// ranks that divide the update.
#include <gtest/gtest.h>

#include <memory>
#include <mutex>

#include "core/net/store/snapshot.h"
#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"

namespace doppio {
namespace {

constexpr const char* kAveraged = "snapshot: 4 ema_decay: 0.5 test_iter: 2 test_interval: 3 ";

// A check of replicas compares weights and history, with the averages, bit by bit.
TEST(AveragedReplicas, HoldTheSameBits) {
  for (const int ranks : {2, 3}) {
    const ReplicasCase c(Norm(), SolverText(4, kAveraged + std::string("iter_size: 2")));
    TrainerOptions options;
    options.check_replicas = 1;
    const Trained trained = c.Together(ranks, 4, {}, options);
    EXPECT_TRUE(trained.tests.at(0).averaged);
    const SolverSnapshot state = ReadSnapshot(c.State(4));
    EXPECT_TRUE(state.run_state.averaged());
    // The momentum and the weights of each parameter.
    EXPECT_EQ(state.history.size(), 2 * trained.weights.size());
  }
}

// Ranks that come and go continue from memory.
TEST(AveragedReplicas, ContinueFromMemoryWithTheSameBits) {
  const ReplicasCase c(Norm(), SolverText(4, kAveraged));
  const Trained whole = c.Together(2, 4);
  const std::string model = ReadFile(c.Model(4));
  const SolverSnapshot end = ReadSnapshot(c.State(4));

  std::mutex mutex;
  auto state = std::make_shared<TrainerState>();
  TrainerOptions options;
  options.elastic = ElasticRule();
  options.elastic->newcomers = [votes = 0]() mutable { return ++votes == 2; };
  options.elastic->keep = [&](TrainerState kept) {
    const std::lock_guard<std::mutex> lock(mutex);
    *state = std::move(kept);
  };
  c.Together(2, 4, {}, options);
  EXPECT_EQ(state->solver.iter, 2);
  options.elastic->newcomers = nullptr;
  options.state = state;
  const Trained continued = c.Together(2, 4, {}, options);
  EXPECT_EQ(continued.weights, whole.weights);
  EXPECT_EQ(ReadFile(c.Model(4)), model);
  const SolverSnapshot again = ReadSnapshot(c.State(4));
  ASSERT_EQ(again.history.size(), end.history.size());
  for (size_t i = 0; i < end.history.size(); ++i)
    EXPECT_EQ(again.history[i].data, end.history[i].data) << i;
}

}  // namespace
}  // namespace doppio

#include "solvers/trainer/trainer_state.h"

#include <gtest/gtest.h>

#include "parallel/elastic/elastic_member.h"
#include "tests/parallel/tcp_case.h"

namespace doppio {
namespace {

TrainerState AnyState() {
  TrainerState state;
  state.solver.iter = int64_t{5} << 32;
  state.solver.current_step = 3;
  state.solver.minimum_loss = 0.25f;
  state.solver.iter_last_event = 7;
  state.solver.history = {{Shape{2, 3}, {1, 2, 3, 4, 5, 6}}, {Shape{}, {9}}};
  state.solver.run_state.set_seed(11);
  state.solver.run_state.add_recent_loss(0.5f);
  state.weights = {{"ip", "InnerProduct", {{Shape{1, 2}, {-1, 0.5f}}, {Shape{0}, {}}}}};
  state.last_snapshot = "run_iter_4.solverstate";
  state.tested = true;
  return state;
}

void ExpectHead(const TrainerState& state) {
  const TrainerState any = AnyState();
  EXPECT_EQ(state.solver.iter, any.solver.iter);
  EXPECT_EQ(state.solver.current_step, 3);
  EXPECT_EQ(state.solver.minimum_loss, 0.25f);
  EXPECT_EQ(state.solver.iter_last_event, 7);
  EXPECT_EQ(state.solver.run_state.seed(), 11u);
  EXPECT_EQ(state.solver.run_state.recent_loss(0), 0.5f);
  EXPECT_EQ(state.last_snapshot, any.last_snapshot);
  EXPECT_TRUE(state.tested);
}

// Rank 1 gives its state to ranks 0 and 2.
void Share(bool arrays, const std::function<void(int rank, const TrainerState&)>& check) {
  const int port = FreePort();
  const auto thrown = InThreads(3, [&](int rank) {
    ElasticOptions options;
    options.rendezvous = RendezvousOf(port, rank, 3);
    options.most = 3;
    options.identity = IdentityOf("here", "doppio 1", "TCP");
    ElasticMember member(options);
    ProcessWorld* const world = member.Meet(-1);
    TrainerState state;
    if (rank == 1) state = AnyState();
    if (rank == 2) state.weights = {{"other", "", {}}};
    ShareState(&world->control(), 1, arrays, &state);
    check(rank, state);
    world->control().Barrier();
  });
  EXPECT_EQ(thrown, std::vector<std::string>(3));
}

TEST(TrainerState, ReachesAllRanks) {
  Share(true, [](int, const TrainerState& state) {
    ExpectHead(state);
    ASSERT_EQ(state.solver.history.size(), 2u);
    EXPECT_EQ(state.solver.history[0].shape, (Shape{2, 3}));
    EXPECT_EQ(state.solver.history[0].data, std::vector<float>({1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(state.solver.history[1].data, std::vector<float>({9}));
    ASSERT_EQ(state.weights.size(), 1u);
    EXPECT_EQ(state.weights[0].name, "ip");
    EXPECT_EQ(state.weights[0].type, "InnerProduct");
    EXPECT_EQ(state.weights[0].blobs[0].data, std::vector<float>({-1, 0.5f}));
    EXPECT_EQ(state.weights[0].blobs[1].data.size(), 0u);
  });
}

TEST(TrainerState, LeavesArraysThatAreEqualWhereTheyAre) {
  Share(false, [](int rank, const TrainerState& state) {
    ExpectHead(state);
    EXPECT_EQ(state.weights.size(), rank == 0 ? 0u : 1u);
    if (rank == 2) {
      EXPECT_EQ(state.weights[0].name, "other");
    }
  });
}

}  // namespace
}  // namespace doppio

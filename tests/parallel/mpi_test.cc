// The communicators of MPI processes, and trainings over them. Run by mpirun, every case on every rank.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "parallel/process_world.h"
#include "tests/parallel/communicator_case.h"
#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"

namespace doppio {
namespace {

World* g_world = nullptr;

TEST(Mpi, Communicates) {
  ExpectCommunicates(&g_world->control());
  ExpectCommunicates(&g_world->bulk());
}

// N ranks are one big batch, to the tolerance of replicas_test.
void ExpectOneBigBatch(const std::string& net, const std::string& solver) {
  const ReplicasCase c(net, solver);
  const Trained alone = c.Alone(kTotal), together = c.Join(g_world, kTotal / g_world->size());
  EXPECT_LE(LargestDifference(alone, together), kTolerance);
  // All ranks have the same bits.
  for (const auto& [name, values] : together.weights) {
    std::vector<float> others = values;
    g_world->control().Broadcast(others.data(), static_cast<int64_t>(others.size() * sizeof(float)), 0);
    EXPECT_EQ(values, others) << name;
  }
}

TEST(Mpi, RanksAreOneBigBatchOfLeNet) { ExpectOneBigBatch(LeNet(), SolverText(20)); }
TEST(Mpi, RanksAreOneBigBatchOfAResidualNet) { ExpectOneBigBatch(Residual(), SolverText(20)); }
TEST(Mpi, RanksAreOneBigBatchOfASmoothNetForLonger) { ExpectOneBigBatch(LeNet("", "TanH", "AVE"), SolverText(100)); }
TEST(Mpi, RanksAreOneBigBatchWithIterSize) { ExpectOneBigBatch(LeNet(), SolverText(10, "iter_size: 2")); }
TEST(Mpi, RanksAreOneBigBatchWithClipping) { ExpectOneBigBatch(LeNet(), SolverText(20, "clip_gradients: 0.5")); }
TEST(Mpi, RanksAreOneBigBatchWithSharedWeights) { ExpectOneBigBatch(SharedWeights(), SolverText(20)); }
TEST(Mpi, RanksAreOneBigBatchInEveryNormalisation) {
  for (const std::string normalization : {"VALID", "FULL", "BATCH_SIZE", "NONE"}) {
    SCOPED_TRACE(normalization);
    ExpectOneBigBatch(LeNet("loss_param { ignore_label: 3 normalization: " + normalization + " }"),
                      SolverText(20, normalization == "NONE" ? "clip_gradients: 1" : ""));
  }
}

}  // namespace
}  // namespace doppio

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  doppio::ProcessWorldOptions options;
  options.watch.on_lost = [](const doppio::WatchOptions::Loss& loss) {
    std::cerr << loss.message << std::endl;
    std::_Exit(1);
  };
  std::unique_ptr<doppio::ProcessWorld> world = (*doppio::ProcessWorlds::Get().Find("mpi"))(options);
  doppio::g_world = world.get();
  if (world->rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  double failed = RUN_ALL_TESTS();
  world->control().AllReduce(&failed, 1, doppio::DType::kFloat64);
  if (world->rank() == 0 && failed > 0) std::cerr << failed << " rank(s) had failures" << std::endl;
  return failed > 0 ? 1 : 0;
}

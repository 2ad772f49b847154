// Tests the communicators of processes and trainings over them. mpirun starts the program, or a
// launcher without MPI; every rank runs every case.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>

#include "parallel/world/launcher.h"
#include "parallel/world/process_world.h"
#include "tests/parallel/communicator_case.h"
#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"
#include "tests/testing/count_checks.h"
#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

ProcessWorld* g_world = nullptr;
// The GPU whose memory the ranks sum through the host; null: the ranks sum host memory.
std::unique_ptr<Device> g_gpu;

TEST(Mpi, Communicates) {
  ExpectCommunicates(&g_world->control());
  ExpectCommunicates(&g_world->bulk(), g_gpu.get());
}

TEST(Mpi, SaysHowMachinesSum) {
  const char* const each = std::getenv("RANKS_PER_MACHINE");
  const int machines =
      each == nullptr ? 1 : (g_world->size() + std::atoi(each) - 1) / std::atoi(each);
  EXPECT_EQ(g_world->how_summed(), machines == 1
                                       ? ""
                                       : "gradients are summed inside " + std::to_string(machines) +
                                             " machines first, then between them");
}

// Each process has two threads as ranks.
TEST(Mpi, ThreadsOfProcessesCommunicate) {
  RunThreadWorld(2, {},
                 [](World& world) {
                   EXPECT_EQ(world.size(), 2 * g_world->size());
                   EXPECT_EQ(world.rank() / 2, g_world->rank());
                   ExpectCommunicates(&world.control());
                   if (g_gpu == nullptr)
                     ExpectCommunicates(&world.bulk());  // each GPU has a process of its own
                 },
                 {}, {g_world});
}

// Checks that N ranks are one big batch, to the tolerance of replicas_test.
void ExpectOneBigBatch(const std::string& net, const std::string& solver,
                       double tolerance = kTolerance) {
  ReplicasCase c(net, solver);
  if (g_gpu != nullptr) c.On(&OpenTestGpu, "host");
  const Trained alone = c.Alone(kTotal),
                together = c.Join(g_world, kTotal / g_world->size(), g_gpu.get());
  EXPECT_LE(LargestDifference(alone, together), tolerance);
  // All ranks have the same bits.
  for (const auto& [name, values] : together.weights) {
    std::vector<float> others = values;
    g_world->control().Broadcast(others.data(), static_cast<int64_t>(others.size() * sizeof(float)),
                                 0);
    EXPECT_EQ(values, others) << name;
  }
}

TEST(Mpi, RanksAreOneBigBatchOfLeNet) {
  ExpectOneBigBatch(LeNet(), SolverText(kKinkedIterations), kKinkedTolerance);
}
TEST(Mpi, RanksAreOneBigBatchOfAResidualNet) {
  ExpectOneBigBatch(Residual(), SolverText(kKinkedIterations), kKinkedTolerance);
}
TEST(Mpi, RanksAreOneBigBatchOfASmoothNetForLonger) {
  // Fewer iterations on the double of a GPU, which is slow.
  ExpectOneBigBatch(SmoothLeNet(), SolverText(g_gpu == nullptr ? 100 : 25));
}
TEST(Mpi, RanksAreOneBigBatchWithIterSize) {
  ExpectOneBigBatch(SmoothLeNet(), SolverText(10, "iter_size: 2"));
}
TEST(Mpi, RanksAreOneBigBatchWithClipping) {
  ExpectOneBigBatch(SmoothLeNet(), SolverText(20, "clip_gradients: 0.5"));
}
TEST(Mpi, RanksAreOneBigBatchWithSharedWeights) {
  ExpectOneBigBatch(SharedWeights(), SolverText(20));
}
TEST(Mpi, RanksAreOneBigBatchInEveryNormalisation) {
  const int iterations = g_gpu == nullptr ? 20 : 8;  // the double of a GPU is slow
  for (const std::string normalization : {"VALID", "FULL", "BATCH_SIZE", "NONE"}) {
    SCOPED_TRACE(normalization);
    ExpectOneBigBatch(
        SmoothLeNet("loss_param { ignore_label: 3 normalization: " + normalization + " }"),
        SolverText(iterations, normalization == "NONE" ? "clip_gradients: 1" : ""));
  }
}

// TCP's order of additions is fixed, and even shares keep it.
TEST(Mpi, RanksThatDivideTheUpdateTrainAlike) {
  if (g_gpu != nullptr) GTEST_SKIP() << "ranks on GPUs do not divide the update";
  const bool exact = !FindLaunch().mpi;
  for (const char* more : {"", "type: 'Adam' delta: 1e-3", "clip_gradients: 0.5"}) {
    const ReplicasCase c(SmoothLeNet(), SolverText(10, more));
    TrainerOptions options;
    options.check_replicas = 1;
    const Trained whole = c.Join(g_world, 4, nullptr, options);
    options.shard_update = true;
    const Trained shared = c.Join(g_world, 4, nullptr, options);
    EXPECT_LT(shared.history_bytes, whole.history_bytes);
    EXPECT_LE(LargestDifference(whole, shared), kTolerance) << more;
    const bool even = more[0] != 'c' || g_world->size() == 2;
    if (exact && even) {
      EXPECT_EQ(whole.weights, shared.weights) << more;
    }
  }
}

}  // namespace
}  // namespace doppio

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  doppio::FailCasesThatCheckNothing();
  doppio::ProcessExchange exchange;
  // Treats this many ranks as one machine.
  if (const char* each = std::getenv("RANKS_PER_MACHINE")) {
    exchange.hierarchical = true;
    exchange.ranks_per_machine = std::atoi(each);
  }
  if (std::getenv("ON_GPUS") != nullptr) {
    if (!doppio::HasTestGpu()) {
      std::cerr << doppio::kNoTestGpu << std::endl;
      return 1;
    }
    doppio::g_gpu = doppio::OpenTestGpu();
    exchange.make_bulk = [](const doppio::LinkPlace& place) {
      return doppio::FindDeviceLink(doppio::g_gpu->kind(), "host")
          ->connect(doppio::g_gpu.get(), place);
    };
  }
  doppio::ProcessWorldOptions options;
  options.watch.on_lost = [](const doppio::WatchOptions::Loss& loss) {
    std::cerr << loss.message << std::endl;
    std::_Exit(1);
  };
  const doppio::Launch launch = doppio::FindLaunch();
  options.rendezvous.address = launch.address;
  options.rendezvous.port = launch.port;
  options.rendezvous.rank = launch.rank;
  options.rendezvous.size = launch.size;
  std::unique_ptr<doppio::ProcessWorld> world =
      doppio::ProcessWorlds::Get().Find(launch.mpi ? "mpi" : "tcp")->make(options);
  world->Connect(exchange);
  doppio::g_world = world.get();
  if (world->rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  double failed = RUN_ALL_TESTS();
  world->control().AllReduce(&failed, 1, doppio::DType::kFloat64);
  if (world->rank() == 0 && failed > 0) std::cerr << failed << " rank(s) had failures" << std::endl;
  world->Disconnect();
  return failed > 0 ? 1 : 0;
}

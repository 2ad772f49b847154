// Tests worlds of ranks that Doppio's NCCL link connects on the double, with each rank on a
// separate GPU.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/device/kind_cuda.h"
#include "tests/double/machine/counters.h"
#include "tests/double/machine/settings.h"
#include "tests/double/machine/streams.h"
#include "tests/double/nccl/functions.h"
#include "tests/parallel/communicator_case.h"
#include "tests/parallel/layered_case.h"
#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

const DeviceLink& Link() { return *FindDeviceLink(kCudaKind, "nccl"); }

std::unique_ptr<Device> GpuNumber(int index) {
  auto gpu = DeviceBackends::Get().Find(kCudaKind)->make(index);
  gpu->settings.deterministic = true;
  return gpu;
}

class NcclWorldOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    gpu_double::Settings settings = gpu_double::TheSettings();
    settings.devices = 8;
    gpu_double::Use(settings);
    gpu_double::ResetMachine();
    aborted_ = gpu_double::AbortedCommunicators();
  }
  // Checks that no communicator is left, and that ncclCommAbort ended `count` of them.
  void ExpectAborted(int count) const {
    EXPECT_EQ(gpu_double::LiveCommunicators(), 0);
    EXPECT_EQ(gpu_double::AbortedCommunicators(), aborted_ + count);
  }

 private:
  int aborted_ = 0;
};

TEST_F(NcclWorldOnGpu, NamesTheFailedRankInEveryLaterSum) {
  constexpr int kRanks = 3;
  std::vector<std::unique_ptr<Device>> devices;
  for (int rank = 0; rank < kRanks; ++rank) devices.push_back(GpuNumber(rank));
  const auto device = [&](int rank) { return devices[static_cast<size_t>(rank)].get(); };
  std::atomic<int> told{0};
  const auto body = [&](World& world) {
    const Buffer memory(device(world.rank()), 64);
    world.control().Barrier();
    if (world.rank() == 2) throw FileError("record 7 is damaged");
    for (int call = 0; call < 2; ++call) {
      const auto sum = [&] { world.bulk().AllReduce(memory.data(), 16, DType::kFloat32); };
      EXPECT_EQ(Mistake<PeerError>(sum), "rank 2 has failed: record 7 is damaged");
      ++told;
    }
  };
  EXPECT_THROW(RunThreadWorld(kRanks, {}, body,
                              [&](const LinkPlace& place) {
                                return Link().connect(device(place.control->rank()), place);
                              }),
               FileError);
  EXPECT_EQ(told, 4);
  ExpectAborted(kRanks);
}

// Each rank has a communicator inside its node. The first rank of each node has another one across
// nodes.
class LinkedLayers {
 public:
  LinkedLayers(Device* device, const LayeredTeams& teams, int rank)
      : inside_(Connect(device, teams.Inside(rank))),
        across_(Connect(device, teams.AcrossOf(rank))),
        layered_(rank, teams.places(), inside_.get(), across_.get()) {}
  Communicator* get() { return &layered_; }

 private:
  static std::unique_ptr<Communicator> Connect(Device* device, Communicator* control) {
    if (control == nullptr) return nullptr;
    return Link().connect(device, {control, nullptr, std::make_shared<Meeting>(1), {}});
  }
  const std::unique_ptr<Communicator> inside_, across_;
  Layered layered_;
};

TEST_F(NcclWorldOnGpu, SumsInsideNodesAndAcrossThem) {
  const LayeredTeams teams(PlacesByNode({2, 1, 3}));
  RunThreadWorld(teams.size(), {}, [&](World& world) {
    const std::unique_ptr<Device> device = GpuNumber(world.rank());
    LinkedLayers ends(device.get(), teams, world.rank());
    for (int64_t count : {0, 1, 1000})
      ExpectSums<float>(ends.get(), device.get(), DType::kFloat32, count);
    for (int root = 0; root < world.size(); ++root) {
      std::vector<int64_t> data(100, world.rank());
      OnDevice(device.get(), &data,
               [&](void* memory) { ends.get()->Broadcast(memory, 800, root); });
      EXPECT_EQ(data, std::vector<int64_t>(100, root));
    }
    ends.get()->ExchangeAfterCompute(0);
    ends.get()->SetBucket(0);
    ends.get()->Barrier();
  });
  ExpectAborted(0);
}

TEST_F(NcclWorldOnGpu, TrainsOneBigBatch) {
  ReplicasCase c(SharedWeights(), SolverText(10));
  int made = 0;  // each new rank takes the next free GPU
  c.On([&made] { return GpuNumber(made++ % 8); }, "nccl");
  const Trained alone = c.Alone(kTotal);
  for (int ranks : {2, 4, 8}) {
    EXPECT_LE(LargestDifference(alone, c.Together(ranks, kTotal / ranks)), kTolerance)
        << ranks << " ranks";
  }
  ExpectAborted(0);
}

// The GPUs sum the shared statistics, without further copies to the host.
TEST_F(NcclWorldOnGpu, TrainsOneBigBatchWithSharedStatistics) {
  ReplicasCase c(NormChains(), SolverText(10));
  int made = 0;
  c.On([&made] { return GpuNumber(made++ % 8); }, "nccl");
  TrainerOptions shared;
  shared.plan.sync_statistics = true;
  const Trained alone = c.Alone(kTotal);
  for (int ranks : {2, 4}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    const int64_t begun = gpu_double::ReadCounters().downloads;
    const Trained apart = c.Together(ranks, kTotal / ranks);
    const int64_t between = gpu_double::ReadCounters().downloads;
    const Trained together = c.Together(ranks, kTotal / ranks, {}, shared);
    EXPECT_EQ(gpu_double::ReadCounters().downloads - between, between - begun);
    EXPECT_LE(LargestDifference(alone, together), 2 * kTolerance);
    EXPECT_GT(LargestDifference(alone, apart), 100 * kTolerance);
  }
  ExpectAborted(0);
}

}  // namespace
}  // namespace doppio

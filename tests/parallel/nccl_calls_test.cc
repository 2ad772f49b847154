// How NCCL is called, on the host in a GPU's place with a library of the test's own (fake_nccl.cc).
#include <gtest/gtest.h>

#include <sched.h>

#include <atomic>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/shared_library.h"
#include "core/base/threads.h"
#include "tests/parallel/communicator_case.h"
#include "tests/parallel/layered_case.h"
#include "tests/parallel/link_case.h"
#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"

namespace doppio {
namespace {

class NcclCalls : public testing::Test {
 protected:
  // BUILD names the fake's folder in LD_LIBRARY_PATH.
  void SetUp() override {
    const std::string found = Link().describe();
    if (found.find("2.99.99") == std::string::npos)
      GTEST_SKIP() << "the loader finds another NCCL first: " << found;
  }
  static const DeviceLink& Link() { return *DeviceLinks::Get().Find("nccl"); }
  static int& Of(const char* counter) {
    return *static_cast<int*>(SharedLibrary("the fake", "libnccl.so.2").Find(counter));
  }
};

TEST_F(NcclCalls, JoinSumBroadcastAndEnd) {
  const int aborted = Of("g_fake_nccl_aborted");
  for (int size : {1, 2, 3, 4}) {
    OnLinkedRanks(size, Link().connect, [](World& world, Device* device) {
      Communicator& bulk = world.bulk();
      EXPECT_EQ(bulk.rank(), world.rank());
      EXPECT_EQ(bulk.size(), world.size());
      for (int64_t count : {0, 1, 1000}) {
        ExpectSums<float>(&bulk, device, DType::kFloat32, count);
        ExpectSums<double>(&bulk, device, DType::kFloat64, count);
      }
      std::vector<int64_t> data(100, bulk.rank());
      OnDevice(device, &data, [&](void* memory) { bulk.Broadcast(memory, 800, bulk.size() - 1); });
      EXPECT_EQ(data, std::vector<int64_t>(100, bulk.size() - 1));
      bulk.Broadcast(nullptr, 0, 0);
      bulk.Barrier();
    });
  }
  EXPECT_EQ(Of("g_fake_nccl_comms"), 0);
  EXPECT_EQ(Of("g_fake_nccl_aborted"), aborted);
}

TEST_F(NcclCalls, AreAbortedWhenARankFails) {
  const int aborted = Of("g_fake_nccl_aborted");
  std::atomic<int> told{0};
  EXPECT_THROW(OnLinkedRanks(3, Link().connect,
                             [&](World& world, Device* device) {
                               const Buffer memory(device, 64);
                               world.control().Barrier();
                               if (world.rank() == 2) throw FileError("record 7 is damaged");
                               for (int call = 0; call < 2; ++call) {
                                 try {
                                   world.bulk().AllReduce(memory.data(), 16, DType::kFloat32);
                                   ADD_FAILURE() << "somebody was missing";
                                 } catch (const PeerError& e) {
                                   EXPECT_EQ(e.message(), "rank 2 has failed: record 7 is damaged");
                                   ++told;
                                 }
                               }
                             }),
               FileError);
  EXPECT_EQ(told, 4);
  EXPECT_EQ(Of("g_fake_nccl_comms"), 0);
  EXPECT_EQ(Of("g_fake_nccl_aborted"), aborted + 3);
}

TEST_F(NcclCalls, SayWhatFailed) {
  try {
    OnLinkedRanks(2, Link().connect, [](World& world, Device* device) {
      const Buffer memory(device, 64);
      world.bulk().AllReduce(memory.data(), 16, DType::kFloat16);  // which the fake does not know
    });
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_EQ(e.message(),
              "NCCL failed at summing on GPU (the host in its place): invalid argument");
  }
}

TEST_F(NcclCalls, JoinOnAllCores) {
  OnLinkedRanks(
      2,
      [](Device* device, const LinkPlace& place) {
        cpu_set_t one, after;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        auto end = Link().connect(device, place);
        EXPECT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
        EXPECT_TRUE(CPU_EQUAL(&one, &after));
        UseAllCores();
        return end;
      },
      [](World&, Device*) {});
  EXPECT_EQ(Of("g_fake_nccl_cores"), ProcessCores());
}

TEST_F(NcclCalls, EndWithAMessageWhenARankNeverJoins) {
  const int aborted = Of("g_fake_nccl_aborted");
  setenv("DOPPIO_NCCL_TIMEOUT", "0.2", 1);
  Of("g_fake_nccl_missing") = 1;
  try {
    OnLinkedRanks(3, Link().connect, [](World&, Device*) { ADD_FAILURE() << "all have joined"; });
    ADD_FAILURE() << "nobody was missing";
  } catch (const DeviceError& e) {
    EXPECT_NE(e.message().find("NCCL has not completed joining the ranks after 0.2 s: rank "),
              std::string::npos)
        << e.message();
    EXPECT_NE(e.message().find(" of 3 on "), std::string::npos) << e.message();
  }
  Of("g_fake_nccl_missing") = 0;
  unsetenv("DOPPIO_NCCL_TIMEOUT");
  EXPECT_EQ(Of("g_fake_nccl_comms"), 0);
  EXPECT_EQ(Of("g_fake_nccl_aborted"), aborted + 3);
}

// Each rank has an end inside its node, and the first ones another across.
class LinkedLayers {
 public:
  LinkedLayers(const DeviceLink& link, Device* device, const LayeredTeams& teams, int rank)
      : inside_(Connect(link, device, teams.Inside(rank))),
        across_(Connect(link, device, teams.Across(rank))),
        layered_(rank, teams.places(), inside_.get(), across_.get()) {}
  Communicator* get() { return &layered_; }

 private:
  static std::unique_ptr<Communicator> Connect(const DeviceLink& link, Device* device,
                                               Communicator* control) {
    if (control == nullptr) return nullptr;
    return link.connect(device, {control, nullptr, std::make_shared<Meeting>(1), {}});
  }
  const std::unique_ptr<Communicator> inside_, across_;
  Layered layered_;
};

TEST_F(NcclCalls, SumInLayers) {
  const int aborted = Of("g_fake_nccl_aborted");
  const std::vector<RankPlace> places = PlacesByNode({2, 1, 3});
  const LayeredTeams teams(places);
  RunThreadWorld(teams.size(), {}, [&](World& world) {
    const std::unique_ptr<Device> device = TestGpu();
    LinkedLayers ends(Link(), device.get(), teams, world.rank());
    for (int64_t count : {0, 1, 1000})
      ExpectSums<float>(ends.get(), device.get(), DType::kFloat32, count);
    for (int root = 0; root < world.size(); ++root) {
      std::vector<int64_t> data(100, world.rank());
      OnDevice(device.get(), &data,
               [&](void* memory) { ends.get()->Broadcast(memory, 800, root); });
      EXPECT_EQ(data, std::vector<int64_t>(100, root));
    }
    ends.get()->Follow(0);
    ends.get()->NoteBucket(0);
    ends.get()->Barrier();
  });
  EXPECT_EQ(Of("g_fake_nccl_comms"), 0);
  EXPECT_EQ(Of("g_fake_nccl_aborted"), aborted);
}

TEST_F(NcclCalls, TrainOneBigBatch) {
  ReplicasCase c(SharedWeights(), SolverText(10));
  c.On(&TestGpu, "nccl");
  const Trained alone = c.Alone(kTotal);
  for (int ranks : {2, 4})
    EXPECT_LE(LargestDifference(alone, c.Together(ranks, kTotal / ranks)), kTolerance);
}

}  // namespace
}  // namespace doppio

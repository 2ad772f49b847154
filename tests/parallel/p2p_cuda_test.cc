// Tests copies between pairs of GPUs, and sums of GPU memory on the host.
#include "parallel/gpu/p2p_cuda.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/device/kind_cuda.h"
#include "tests/parallel/communicator_case.h"
#include "tests/parallel/link_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

std::unique_ptr<Communicator> Direct(Device* device, const LinkPlace& place) {
  return ConnectPeers(device, place, true);
}
std::unique_ptr<Communicator> Staged(Device* device, const LinkPlace& place) {
  return ConnectPeers(device, place, false);
}
std::unique_ptr<Communicator> ThroughHost(Device* device, const LinkPlace& place) {
  return FindDeviceLink(kCudaKind, "host")->connect(device, place);
}

class LinksOnGpus : public testing::TestWithParam<Connect> {
 protected:
  void SetUp() override {
    if (!HasTestGpu()) GTEST_SKIP() << kNoTestGpu;
  }
};

INSTANTIATE_TEST_SUITE_P(All, LinksOnGpus, testing::Values(&Direct, &Staged, &ThroughHost));

TEST_P(LinksOnGpus, Communicate) {
  for (int size : {1, 2, 3, 4, 7}) {
    OnLinkedRanks(size, GetParam(),
                  [](World& world, Device* device) { ExpectCommunicates(&world.bulk(), device); });
  }
}

// The data is several pieces and a remainder.
TEST_P(LinksOnGpus, CommunicateMuch) {
  const int64_t count = (int64_t{9} << 20) / 4 + 13;
  OnLinkedRanks(3, GetParam(), [&](World& world, Device* device) {
    ExpectSums<float>(&world.bulk(), device, DType::kFloat32, count);
    std::vector<float> data(static_cast<size_t>(count), static_cast<float>(world.rank()));
    OnDevice(device, &data, [&](void* memory) { world.bulk().Broadcast(memory, count * 4, 1); });
    EXPECT_EQ(data, std::vector<float>(static_cast<size_t>(count), 1.0f));
  });
}

TEST_P(LinksOnGpus, EndAllWaitsWhenARankLeaves) {
  std::atomic<int> reported{0};
  const auto body = [&](World& world, Device* device) {
    const Buffer memory(device, 64);
    device->Synchronize();  // waits until the memory is cleared
    const auto sum = [&] { world.bulk().AllReduce(memory.data(), 16, DType::kFloat32); };
    sum();
    if (world.rank() == 2) throw FileError("record 7 is damaged");
    for (int call = 0; call < 2; ++call) {
      EXPECT_EQ(Mistake<PeerError>(sum), "rank 2 has failed: record 7 is damaged");
      ++reported;
    }
  };
  EXPECT_EQ(Mistake<FileError>([&] { OnLinkedRanks(4, GetParam(), body); }), "record 7 is damaged");
  EXPECT_EQ(reported, 6);
}

// An exchange sums what the computing thread had requested before ExchangeAfterCompute(), however
// long that takes the device.
TEST_P(LinksOnGpus, FollowTheComputing) {
  OnLinkedRanks(2, GetParam(), [](World& world, Device* device) {
    constexpr int64_t kBytes = int64_t{32} << 20;
    const Buffer memory(device, kBytes);
    const std::vector<float> ones(16, 1.0f);
    for (int64_t bucket = 0; bucket < 3; ++bucket) {
      for (int i = 0; i < 6; ++i) device->Zero(memory.data(), kBytes);
      device->CopyFromHost(memory.data(), ones.data(), 64);
      for (int i = 0; i < 6; ++i) device->Zero(static_cast<char*>(memory.data()) + 64, kBytes - 64);
      world.bulk().ExchangeAfterCompute(bucket);
      world.bulk().SetBucket(bucket);
      world.bulk().AllReduce(memory.data(), 32, DType::kFloat32);
      std::vector<float> sums(32);
      device->CopyToHost(sums.data(), memory.data(), 128);
      EXPECT_EQ(sums[15], 2.0f);
      EXPECT_EQ(sums[16], 0.0f);
    }
  });
}

// The tree for five ranks at equal distances is ((0 + 1) + (2 + 3)) + 4.
TEST_ON_GPU(Peers, AddInTheOrderOfPairs) {
  constexpr int64_t kCount = 20000;
  const Random random(3, 1);
  const auto number = [&](int rank, int64_t i) {
    return random.Normal(static_cast<uint64_t>(rank), static_cast<uint64_t>(i)) *
           std::exp2(static_cast<float>(i % 20));
  };
  OnLinkedRanks(5, &Direct, [&](World& world, Device* device) {
    std::vector<float> data(kCount);
    for (int64_t i = 0; i < kCount; ++i) data[static_cast<size_t>(i)] = number(world.rank(), i);
    OnDevice(device, &data,
             [&](void* memory) { world.bulk().AllReduce(memory, kCount, DType::kFloat32); });
    for (int64_t i = 0; i < kCount; ++i) {
      const float low = number(0, i) + number(1, i), high = number(2, i) + number(3, i);
      ASSERT_EQ(data[static_cast<size_t>(i)], low + high + number(4, i)) << i;
    }
  });
}

}  // namespace
}  // namespace doppio

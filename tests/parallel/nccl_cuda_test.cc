// Tests NCCL with one rank, because one GPU has room for no more: the library opens, joins, sums,
// broadcasts, waits for computing, and closes.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/device/kind_cuda.h"
#include "tests/parallel/communicator_case.h"
#include "tests/parallel/link_case.h"
#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"

namespace doppio {
namespace {

const DeviceLink& NcclLink() { return *FindDeviceLink(kCudaKind, "nccl"); }

class NcclOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasTestGpu()) GTEST_SKIP() << kNoTestGpu;
    try {
      EXPECT_NE(NcclLink().describe().find("NCCL 2."), std::string::npos);
    } catch (const DeviceError& e) {
      GTEST_SKIP() << e.message();
    }
  }
};

TEST_F(NcclOnGpu, Communicates) {
  OnLinkedRanks(1, NcclLink().connect,
                [](World& world, Device* device) { ExpectCommunicates(&world.bulk(), device); });
}

TEST_F(NcclOnGpu, TrainsLikeOneDevice) {
  ReplicasCase c(LeNet(), SolverText(10));
  c.On(&TestGpu, "nccl");
  EXPECT_LE(LargestDifference(c.Alone(kTotal), c.Together(1, kTotal)), kTolerance);
}

TEST_F(NcclOnGpu, EndsAfterAFailure) {
  EXPECT_THROW(OnLinkedRanks(1, NcclLink().connect,
                             [](World& world, Device* device) {
                               const Buffer memory(device, 64);
                               device->Synchronize();  // waits until the memory is cleared
                               world.bulk().AllReduce(memory.data(), 16, DType::kFloat32);
                               world.bulk().Abort("enough");
                               world.bulk().AllReduce(memory.data(), 16, DType::kFloat32);
                             }),
               PeerError);
}

}  // namespace
}  // namespace doppio

#include "tools/gpus/free_gpus.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

class FreeGpus : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(&folder_[0]), nullptr); }

  static GpuCandidate Gpu(int index, double percent, int64_t mib) {
    GpuCandidate gpu;
    gpu.index = index;
    gpu.pci_bus_id = "0000:" + std::to_string(10 + index) + ":00.0";
    gpu.reading.utilization_percent = percent;
    gpu.reading.memory_used_bytes = mib << 20;
    gpu.reading.memory_total_bytes = int64_t{80} << 30;
    return gpu;
  }
  std::string WhyNot(const std::vector<GpuCandidate>& gpus, int count) {
    return Mistake<DeviceError>([&] { ClaimFreeGpus(gpus, count, folder_); });
  }

  std::string folder_ = testing::TempDir() + "/gpusXXXXXX";
};

TEST_F(FreeGpus, AreIdleAndHoldLittle) {
  const std::vector<GpuCandidate> gpus = {Gpu(0, 97, 20000), Gpu(1, 0, 600), Gpu(2, 0, 20000),
                                          Gpu(3, 4, 0), Gpu(4, 0, 0)};
  EXPECT_EQ(ClaimFreeGpus(gpus, 2, folder_).indices, (std::vector<int>{1, 3}));
}

TEST_F(FreeGpus, AreReservedUntilTheClaimEnds) {
  const std::vector<GpuCandidate> gpus = {Gpu(0, 0, 0), Gpu(1, 0, 0), Gpu(2, 0, 0)};
  ClaimedGpus first = ClaimFreeGpus(gpus, 1, folder_);
  const ClaimedGpus second = ClaimFreeGpus(gpus, 2, folder_);
  EXPECT_EQ(first.indices, std::vector<int>{0});
  EXPECT_EQ(second.indices, (std::vector<int>{1, 2}));
  EXPECT_EQ(WhyNot({gpus[0]}, 1),
            "0 of 1 GPUs are free, 1 wanted; GPU 0: another Doppio has taken it (" + folder_ +
                "/doppio-gpu-0000-10-00-0.lock)");
  first.claim.reset();
  EXPECT_EQ(ClaimFreeGpus(gpus, 1, folder_).indices, std::vector<int>{0});
}

TEST_F(FreeGpus, ThatAreTooFewAreExplained) {
  GpuCandidate silent = Gpu(2, 0, 0);
  silent.reading = GpuReading();
  EXPECT_EQ(WhyNot({Gpu(0, 97, 20 << 10), Gpu(1, 0, 0), silent}, 2),
            "1 of 3 GPUs are free, 2 wanted; GPU 0: 97 % busy, 20.0 GiB of 80.0 GiB in use; GPU 2: "
            "it does not report whether it is used");
}

// After a failure, no GPU stays claimed.
TEST_F(FreeGpus, AreGivenBackWhereTheyAreTooFew) {
  WhyNot({Gpu(0, 0, 0)}, 2);
  EXPECT_EQ(ClaimFreeGpus({Gpu(0, 0, 0)}, 1, folder_).indices, std::vector<int>{0});
}

}  // namespace
}  // namespace doppio

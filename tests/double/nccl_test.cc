#include <sys/wait.h>
#include <unistd.h>

#include "core/tensor/half.h"
#include "tests/double/nccl/testing.h"

namespace doppio::gpu_double {
namespace {

// Sums in place and out of place, and then broadcasts.
void SumTwiceAndBroadcast(const Rank& r) {
  const float own = static_cast<float>(r.rank + 1);
  float* data = NewFloats({own, 10 * own, 100});
  float* to = NewFloats({0, 0, 0});
  const float all = static_cast<float>(r.size * (r.size + 1) / 2);
  EXPECT_EQ(r.Sum(data, to, 3), 0);
  EXPECT_EQ(r.Sum(data, data, 2), 0);
  EXPECT_EQ(Floats(r, to, 3), (std::vector<float>{all, 10 * all, 100.f * r.size}));
  EXPECT_EQ(Floats(r, data, 3), (std::vector<float>{all, 10 * all, 100}));
  float* mine = NewFloats({own});
  EXPECT_EQ(r.Settle(ncclBroadcast(mine, mine, 4, kNcclInt8, r.size - 1, r.comm, r.stream)), 0);
  EXPECT_EQ(Floats(r, mine, 1), std::vector<float>{static_cast<float>(r.size)});
  cudaFree(data);
  cudaFree(to);
  cudaFree(mine);
}

TEST(Nccl, SumsAndBroadcastsOverThreads) {
  for (const bool blocking : {true, false}) {
    InAnyOrder([blocking] {
      for (int size : {1, 2, 4}) {
        OnRanks(size, blocking, [](const Rank& r) {
          SumTwiceAndBroadcast(r);
          End(r);
        });
      }
    });
  }
  EXPECT_EQ(LiveCommunicators(), 0);
}

TEST(Nccl, SumsOverProcesses) {
  Begin(3, "random");
  NcclId id;
  ASSERT_EQ(ncclGetUniqueId(&id), 0);
  std::vector<pid_t> children;
  for (int rank = 0; rank < 3; ++rank) {
    const pid_t child = fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    cudaSetDevice(rank);
    const Rank r = Join(id, rank, 3, rank == 1);
    for (int i = 0; i < 5; ++i) SumTwiceAndBroadcast(r);
    End(r);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(Nccl, AddsSixteenBitElementsInSinglePrecision) {
  Begin(1, "late");
  OnRanks(3, false, [](const Rank& r) {
    // 2048 + 1 + 1 is 2050 in single precision, but 2048 if each sum is rounded to a Half.
    const Half own(r.rank == 0 ? 2048.f : 1.f);
    Half sum(0.f);
    void* at = nullptr;
    cudaMalloc(&at, 2);
    cudaMemcpy(at, &own, 2, cudaMemcpyHostToDevice);
    EXPECT_EQ(r.Sum(at, at, 1, kNcclFloat16), 0);
    cudaStreamSynchronize(r.stream);
    cudaMemcpy(&sum, at, 2, cudaMemcpyDeviceToHost);
    EXPECT_EQ(static_cast<float>(sum), 2050.f);
    End(r);
  });
}

TEST(Nccl, GathersAndScatters) {
  Begin(2, "random");
  OnRanks(2, true, [](const Rank& r) {
    const float own = static_cast<float>(r.rank);
    float* from = NewFloats({own, own + 10});
    float* to = NewFloats({-1, -1, -1, -1});
    EXPECT_EQ(ncclAllGather(from, to, 2, kNcclFloat32, r.comm, r.stream), 0);
    EXPECT_EQ(Floats(r, to, 4), (std::vector<float>{0, 10, 1, 11}));
    EXPECT_EQ(ncclReduceScatter(from, to, 1, kNcclFloat32, kNcclSum, r.comm, r.stream), 0);
    EXPECT_EQ(Floats(r, to, 1), std::vector<float>{r.rank == 0 ? 1.f : 21.f});
    EXPECT_EQ(ncclReduce(from, to, 2, kNcclFloat32, kNcclMax, 1, r.comm, r.stream), 0);
    if (r.rank == 1) {
      EXPECT_EQ(Floats(r, to, 2), (std::vector<float>{1, 11}));
    }
    End(r);
  });
}

TEST(Nccl, LetsOneThreadDriveSeveralGpus) {
  Begin(4, "random");
  NcclId id;
  ncclGetUniqueId(&id);
  Rank ranks[2];
  float* data[2];
  ncclGroupStart();
  for (int r = 0; r < 2; ++r) {
    cudaSetDevice(r);
    ranks[r].rank = r;
    cudaStreamCreate(&ranks[r].stream);
    data[r] = NewFloats({r + 1.f});
    EXPECT_EQ(ncclCommInitRank(&ranks[r].comm, 2, id, r), 0);
  }
  EXPECT_EQ(ncclGroupEnd(), 0);
  ncclGroupStart();
  for (int r = 0; r < 2; ++r) EXPECT_EQ(ranks[r].Sum(data[r], data[r], 1), 0);
  EXPECT_EQ(ncclGroupEnd(), 0);
  for (int r = 0; r < 2; ++r) EXPECT_EQ(Floats(ranks[r], data[r], 1), std::vector<float>{3});
  for (int r = 0; r < 2; ++r) End(ranks[r]);
}

TEST(Nccl, RefusesTwoRanksOnOneGpu) {
  Begin(1, "late");
  NcclId id;
  ncclGetUniqueId(&id);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([id, rank] {
      cudaSetDevice(1);
      void* comm = nullptr;
      EXPECT_EQ(ncclCommInitRank(&comm, 2, id, rank), kNcclInvalidUsage);
      EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("Duplicate GPU"), std::string::npos);
      EXPECT_EQ(ncclCommAbort(comm), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Nccl, KeepsACallInProgressUntilItIsAskedFor) {
  Begin(1, "early");
  OnRanks(1, false, [](const Rank& r) {
    float* data = NewFloats({1});
    int in_progress = 0;
    for (int i = 0; i < 50; ++i) {
      const auto sum = [&] {
        return ncclAllReduce(data, data, 1, kNcclFloat32, kNcclSum, r.comm, r.stream);
      };
      const int result = sum();
      if (result == kNcclInProgress) {
        ++in_progress;
        EXPECT_EQ(cudaStreamQuery(r.stream),
                  cudaSuccess);  // no work has been put on the stream yet
      }
      EXPECT_EQ(r.Settle(result), 0);
    }
    EXPECT_GT(in_progress, 5);
    EXPECT_LT(in_progress, 45);
    EXPECT_EQ(ncclCommFinalize(r.comm), kNcclInProgress);
    EXPECT_EQ(r.Settle(kNcclInProgress), 0);
    EXPECT_EQ(r.Sum(data, data, 1), kNcclInvalidUsage);
    End(r);
  });
}

}  // namespace
}  // namespace doppio::gpu_double

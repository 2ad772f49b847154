#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "core/tensor/half.h"
#include "tests/double/machine/testing.h"
#include "tests/double/nccl/api.h"
#include "tests/double/nccl/functions.h"

namespace doppio::gpu_double {
namespace {

using testing::ExitedWithCode;

struct Rank {
  int rank = 0, size = 0;
  void* comm = nullptr;
  cudaStream_t stream = nullptr;

  int Settle(int result) const {
    while (result == kNcclInProgress) EXPECT_EQ(ncclCommGetAsyncError(comm, &result), 0);
    return result;
  }
  int Sum(const void* from, void* to, size_t count, int type = kNcclFloat32) const {
    return Settle(ncclAllReduce(from, to, count, type, kNcclSum, comm, stream));
  }
};

Rank Join(const NcclId& id, int rank, int size, bool blocking) {
  Rank r{rank, size};
  NcclConfig config{sizeof(NcclConfig), 0xcafebeef, 21400, blocking ? 1 : 0};
  EXPECT_EQ(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(r.Settle(ncclCommInitRankConfig(&r.comm, size, id, rank, &config)), 0);
  return r;
}

void OnRanks(int size, bool blocking, const std::function<void(const Rank&)>& body) {
  NcclId id;
  ASSERT_EQ(ncclGetUniqueId(&id), 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([=] {
      EXPECT_EQ(cudaSetDevice(rank), cudaSuccess);
      const Rank r = Join(id, rank, size, blocking);
      body(r);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void End(const Rank& r) { EXPECT_EQ(ncclCommDestroy(r.comm), 0); }

float* NewFloats(const std::vector<float>& values) {
  void* at = nullptr;
  EXPECT_EQ(cudaMalloc(&at, values.size() * 4), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(at, values.data(), values.size() * 4, cudaMemcpyHostToDevice), cudaSuccess);
  return static_cast<float*>(at);
}

std::vector<float> Floats(const Rank& r, const float* at, size_t count) {
  std::vector<float> values(count);
  EXPECT_EQ(cudaStreamSynchronize(r.stream), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(values.data(), at, count * 4, cudaMemcpyDeviceToHost), cudaSuccess);
  return values;
}

// In place and not.
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
    // 2048 + 1 + 1 is 2050 in single precision, and 2048 when each sum is rounded to a Half.
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
        EXPECT_EQ(cudaStreamQuery(r.stream), cudaSuccess);  // nothing is there yet
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

TEST(Nccl, FreesTheStreamOfARankThatAborts) {
  InAnyOrder([] {
    std::atomic<bool> freed{false};
    OnRanks(2, false, [&](const Rank& r) {
      float* data = NewFloats({1});
      if (r.rank == 1) {  // asks for nothing and aborts when the other one is free
        while (!freed) RunSome();
        EXPECT_EQ(ncclCommAbort(r.comm), 0);
        return;
      }
      EXPECT_EQ(r.Sum(data, data, 1), 0);
      EXPECT_EQ(cudaStreamQuery(r.stream), cudaErrorNotReady);
      EXPECT_EQ(ncclCommAbort(r.comm), 0);
      EXPECT_EQ(cudaStreamSynchronize(r.stream), cudaSuccess);
      freed = true;
    });
  });
}

TEST(Nccl, LeavesTheOtherRanksWaitingAfterAnAbort) {
  InAnyOrder([] {
    std::atomic<int> asked{0}, aborted{0};
    OnRanks(2, false, [&](const Rank& r) {
      // Behind work of rank 1 that never runs, so that the sum cannot complete.
      bool go = false;
      if (r.rank == 1) {
        Work block;
        block.what = "endless work";
        block.ready = [&go] { return go; };
        block.counter = nullptr;
        EXPECT_EQ(Enqueue(r.stream, block), cudaSuccess);
      }
      float* data = NewFloats({1});
      EXPECT_EQ(r.Sum(data, data, 1), 0);
      ++asked;
      while (asked < 2) RunSome();
      if (r.rank == 0) {
        EXPECT_EQ(ncclCommAbort(r.comm), 0);
        ++aborted;
        EXPECT_EQ(cudaStreamSynchronize(r.stream), cudaSuccess);
        return;
      }
      while (aborted < 1) RunSome();
      go = true;
      for (int i = 0; i < 10; ++i) EXPECT_EQ(cudaStreamQuery(r.stream), cudaErrorNotReady);
      EXPECT_EQ(ncclCommAbort(r.comm), 0);
      EXPECT_EQ(cudaStreamSynchronize(r.stream), cudaSuccess);
    });
  });
}

TEST(Nccl, NeverCompletesTheJoinWithoutARank) {
  Begin(1, "random", [](Settings* s) { s->nccl_fail = "join"; });
  NcclId id;
  ncclGetUniqueId(&id);
  NcclConfig config{sizeof(NcclConfig), 0xcafebeef, 21400, 0};
  void* comms[2];
  for (int r = 0; r < 2; ++r) {
    cudaSetDevice(r);
    EXPECT_EQ(ncclCommInitRankConfig(&comms[r], 2, id, r, &config), kNcclInProgress);
  }
  for (int i = 0; i < 100; ++i) {
    int state = 0;
    EXPECT_EQ(ncclCommGetAsyncError(comms[i % 2], &state), 0);
    EXPECT_EQ(state, kNcclInProgress);
  }
  for (void* comm : comms) EXPECT_EQ(ncclCommAbort(comm), 0);
}

TEST(Nccl, ReportsAnErrorOfTheFifthSum) {
  Begin(1, "random", [](Settings* s) { s->nccl_fail = "sum"; });
  OnRanks(2, true, [](const Rank& r) {
    float* data = NewFloats({1});
    int state = -1;
    for (int i = 0; i < 4; ++i) EXPECT_EQ(r.Sum(data, data, 1), 0);
    EXPECT_EQ(ncclCommGetAsyncError(r.comm, &state), 0);
    EXPECT_EQ(state, 0);
    EXPECT_EQ(r.Sum(data, data, 1), 0);
    EXPECT_EQ(ncclCommGetAsyncError(r.comm, &state), 0);
    EXPECT_EQ(state, r.rank == 1 ? kNcclSystemError : kNcclRemoteError);
    EXPECT_EQ(ncclCommAbort(r.comm), 0);
    EXPECT_EQ(cudaStreamSynchronize(r.stream), cudaSuccess);
  });
}

TEST(Nccl, OffersFewerFunctionsWhenOld) {
  Begin(1, "random");
  const size_t all = NcclFunctions().size();
  Begin(1, "random", [](Settings* s) { s->nccl_fail = "old"; });
  EXPECT_EQ(NcclFunctions().size(), all - 3);
  int version = 0;
  EXPECT_EQ(ncclGetVersion(&version), 0);
  EXPECT_EQ(version, 21003);
}

TEST(NcclFaults, AreFoundInCallsThatDiffer) {
  const auto differ = [] {
    Begin(1, "random");
    OnRanks(2, true, [](const Rank& r) {
      float* data = NewFloats({1, 2});
      r.Sum(data, data, static_cast<size_t>(r.rank + 1));
      cudaStreamSynchronize(r.stream);
    });
  };
  EXPECT_EXIT(differ(), ExitedWithCode(kFaultStatus), "double: nccl: collective 0: rank");
}

TEST(NcclFaults, AreFoundInMemoryOfAnotherGpu) {
  const auto mistake = [] {
    Begin(1, "random");
    OnRanks(1, true, [](const Rank& r) {
      cudaSetDevice(1);
      float* data = NewFloats({1});
      r.Sum(data, data, 1);
    });
  };
  EXPECT_EXIT(mistake(), ExitedWithCode(kFaultStatus), "double: current-device: ncclAllReduce");
}

TEST(NcclFaults, AreFoundInCommunicatorsThatAreGone) {
  const auto mistake = [] {
    Begin(1, "random");
    OnRanks(1, true, [](const Rank& r) {
      End(r);
      End(r);
    });
  };
  EXPECT_EXIT(mistake(), ExitedWithCode(kFaultStatus), "double: nccl: ncclCommDestroy");
}

// A kernel writes what the sum reads, on the same stream.
void WriteAndSum() {
  OnRanks(2, true, [](const Rank& r) {
    float* data = NewFloats({1});
    Work write;
    write.what = "a kernel";
    write.accesses = {{data, 4, true}};
    EXPECT_EQ(Enqueue(r.stream, write), cudaSuccess);
    EXPECT_EQ(r.Sum(data, data, 1), 0);
    EXPECT_EQ(Floats(r, data, 1), std::vector<float>{2});
    End(r);
  });
}

TEST(NcclFaults, AreFoundWhenASumDoesNotWaitForItsStream) {
  InAnyOrder(&WriteAndSum);
  for (const char* order : {"late", "early", "random"}) {
    EXPECT_EXIT((Begin(5, order, Planting("nccl-no-order")), WriteAndSum()),
                ExitedWithCode(kFaultStatus), "double: race")
        << order;
  }
}

TEST(NcclFaults, ShowAMissingRankInTheSum) {
  Begin(1, "random", Planting("nccl-wrong-rank"));
  OnRanks(2, true, [](const Rank& r) {
    float* data = NewFloats({5});
    EXPECT_EQ(r.Sum(data, data, 1), 0);
    EXPECT_EQ(Floats(r, data, 1), std::vector<float>{5});
    End(r);
  });
}

}  // namespace
}  // namespace doppio::gpu_double

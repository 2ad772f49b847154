// Tests aborts, requested failures, mistakes that the NCCL double detects, and planted mistakes.
#include "tests/double/nccl/testing.h"

namespace doppio::gpu_double {
namespace {

using testing::ExitedWithCode;

TEST(Nccl, FreesTheStreamOfARankThatAborts) {
  InAnyOrder([] {
    std::atomic<bool> freed{false};
    OnRanks(2, false, [&](const Rank& r) {
      float* data = NewFloats({1});
      if (r.rank == 1) {  // makes no call, and aborts when the other rank is free
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
      // Blocks rank 1 with work that never runs, so that the sum cannot complete.
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

// A kernel writes the input of the sum on the same stream.
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

#include <cstring>

#include "tests/double/machine/testing.h"

namespace doppio::gpu_double {
namespace {

using testing::ExitedWithCode;

TEST(Memory, IsFreedWhenTheDeviceIsDone) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    bool ran = false;
    {
      DeviceInts a;
      Enqueue(stream, Set(a, 1));
      Enqueue(stream, Kernel("after", {}, [&] { ran = true; }));
    }
    EXPECT_TRUE(ran);
    EXPECT_EQ(WaitFor(stream), cudaSuccess);
  });
}

void FreeWhileAnotherDeviceUsesIt() {
  const cudaStream_t stream = NewStream(1);
  cudaSetDevice(0);
  int* memory = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&memory), 4);
  cudaSetDevice(1);
  cudaDeviceEnablePeerAccess(0, 0);
  Enqueue(stream, Kernel("late", {{memory, 4, true}}, [=] { *memory = 1; }));
  cudaSetDevice(0);
  // Calls the double's own function, because cudaFree might run the work while it waits.
  FreeDevice(memory);
  cudaSetDevice(1);
  WaitFor(stream);
}

TEST(MemoryDeathTest, FindsUseOfFreedMemory) {
  Begin(1, "late");
  EXPECT_EXIT(FreeWhileAnotherDeviceUsesIt(), ExitedWithCode(kFaultStatus), "double: lifetime");
  int* memory = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&memory), 4);
  cudaFree(memory);
  EXPECT_EXIT(Enqueue(NewStream(), Kernel("stale", {{memory, 4, true}}, [] {})),
              ExitedWithCode(kFaultStatus), "double: bounds");
  DeviceInts a;
  EXPECT_EXIT(cudaMemsetAsync(a.at(), 0, 5, nullptr), ExitedWithCode(kFaultStatus),
              "double: bounds");
  EXPECT_EXIT(*a.at() = 1, ExitedWithCode(kFaultStatus), "double: host-access");
}

void TouchAPeer(bool enable) {
  DeviceInts a;
  const cudaStream_t stream = NewStream(1);
  if (enable) {
    EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
  }
  Enqueue(stream, Set(a, 1));
  WaitFor(stream);
  cudaSetDevice(0);
}

TEST(PeersDeathTest, MustBeEnabledForKernels) {
  InAnyOrder([] { TouchAPeer(true); });
  Begin(1, "random");
  EXPECT_EXIT(TouchAPeer(false), ExitedWithCode(kFaultStatus), "double: peer");
}

TEST(Peers, AreThoseOfTheSettings) {
  const auto possible = [](int from, int to) {
    int can = -1;
    EXPECT_EQ(cudaDeviceCanAccessPeer(&can, from, to), cudaSuccess);
    return can == 1;
  };
  Begin(1, "random");
  EXPECT_TRUE(possible(0, 3));
  EXPECT_FALSE(possible(2, 2));
  for (const char* peers : {"none", "pairs", "broken"}) {
    Begin(1, "random", [&](Settings* s) { s->peers = peers; });
    EXPECT_EQ(possible(0, 1), std::strcmp(peers, "none") != 0) << peers;
    EXPECT_EQ(possible(0, 2), std::strcmp(peers, "broken") == 0) << peers;
    const bool enabled = cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess;
    EXPECT_EQ(enabled, std::strcmp(peers, "pairs") == 0) << peers;
    EXPECT_EQ(PeerEnabled(0, 1), enabled);
  }
}

TEST(Peers, CopyWithoutAccess) {
  InAnyOrder(
      [] {
        DeviceInts a;
        const cudaStream_t first = NewStream(0), second = NewStream(1);
        cudaSetDevice(1);
        DeviceInts b;
        cudaSetDevice(0);
        EXPECT_EQ(Enqueue(first, Set(a, 8)), cudaSuccess);
        EXPECT_EQ(WaitFor(first), cudaSuccess);
        EXPECT_EQ(cudaMemcpyAsync(b.at(), a.at(), 4, cudaMemcpyDefault, second), cudaSuccess);
        EXPECT_EQ(ValueOf(b, second), 8);
      },
      [](Settings* s) { s->peers = "none"; });
}

TEST(Failures, RunOutOfMemory) {
  Begin(1, "random", [](Settings* s) { s->memory_mib = 1; });
  void* memory = &memory;
  EXPECT_EQ(cudaMalloc(&memory, 2 << 20), cudaErrorMemoryAllocation);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&memory, 1 << 10), cudaSuccess);
  size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(total, 1u << 20);
  EXPECT_LT(free, total);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(Failures, FailTheAllocationThatIsAskedFor) {
  Begin(1, "random");
  int64_t allocations = 0;  // allocations in the process so far
  {
    DeviceInts a;
    Block block;
    EXPECT_TRUE(FindBlock(a.at(), &block));
    allocations = block.number;
  }
  // The count of allocations excludes failed ones, which are few, and includes pinned memory.
  Begin(1, "random", [&](Settings* s) { s->fail_malloc = allocations + 20; });
  int failures = 0;
  for (int64_t i = 0; i < allocations + 20; ++i) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, 4) == cudaErrorMemoryAllocation) ++failures;
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
  }
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
}

TEST(Failures, KeepAFailedLaunch) {
  for (const char* order : {"late", "early", "random"}) {
    Begin(2, order, [](Settings* s) { s->fail_launch = 3; });
    const cudaStream_t stream = NewStream();
    int ran = 0;
    for (int i = 0; i < 5; ++i) Enqueue(stream, Kernel("step", {}, [&] { ++ran; }));
    const cudaEvent_t other = (cudaSetDevice(1), NewEvent());
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure) << order;
    EXPECT_EQ(ran, 2);
    EXPECT_EQ(cudaSetDevice(0), cudaErrorLaunchFailure);
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorLaunchFailure);
    EXPECT_EQ(Enqueue(stream, Kernel("more", {}, [] {})), cudaErrorLaunchFailure);
    // The other devices still work.
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(other), cudaSuccess);
    cudaGetLastError();
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
}

TEST(Failures, LoseADevice) {
  InAnyOrder(
      [] {
        const cudaStream_t lost = NewStream(0);
        const cudaEvent_t event = NewEvent();
        int ran = 0;
        cudaError_t error = cudaSuccess;
        for (int i = 0; i < 5; ++i) {
          const cudaError_t result = Enqueue(lost, Kernel("step", {}, [&] { ++ran; }));
          if (error == cudaSuccess) error = result;
          if (i == 1) cudaEventRecord(event, lost);
        }
        EXPECT_EQ(error, cudaErrorDevicesUnavailable);
        EXPECT_LE(ran, 2);
        const cudaStream_t well = NewStream(1);
        EXPECT_EQ(cudaStreamWaitEvent(well, event, 0), cudaSuccess);
        EXPECT_EQ(Enqueue(well, Kernel("well", {}, [&] { ran = 100; })), cudaSuccess);
        EXPECT_EQ(WaitFor(well), cudaSuccess);
        EXPECT_EQ(ran, 100);
        EXPECT_EQ(WaitFor(lost), cudaErrorDevicesUnavailable);
        EXPECT_EQ(cudaEventSynchronize(event), cudaErrorDevicesUnavailable);
        EXPECT_EQ(cudaSetDevice(0), cudaErrorDevicesUnavailable);
      },
      [](Settings* s) { s->lose_device = 3; });
}

TEST(Failures, LeaveThePartnersOfALostDeviceWaiting) {
  InAnyOrder(
      [] {
        const cudaStream_t lost = NewStream(0), well = NewStream(1);
        const auto meeting = std::make_shared<Meeting>(2);
        Work member = Kernel("a member", {}, [] { ADD_FAILURE() << "the meeting came about"; });
        member.meeting = meeting;
        EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
        EXPECT_EQ(Enqueue(lost, member), cudaSuccess);
        EXPECT_EQ(cudaStreamQuery(lost), cudaErrorNotReady);  // the member has arrived
        Enqueue(lost, Kernel("the second", {}, [] {}));
        EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
        EXPECT_EQ(Enqueue(well, member), cudaSuccess);
        EXPECT_EQ(WaitFor(lost), cudaErrorDevicesUnavailable);
        for (int i = 0; i < 10; ++i) EXPECT_EQ(cudaStreamQuery(well), cudaErrorNotReady);
        Abandon(meeting);
        EXPECT_EQ(WaitFor(well), cudaSuccess);
      },
      [](Settings* s) { s->lose_device = 2; });
}

TEST(Failures, KeepTheDeviceWhenThatIsPlanted) {
  Begin(1, "random", Planting("device-not-set"));
  const cudaStream_t stream = NewStream(1);
  EXPECT_EQ(DeviceOf(stream), 0);
  EXPECT_EQ(CurrentDevice(), 0);
}

}  // namespace
}  // namespace doppio::gpu_double

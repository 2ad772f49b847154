#include <set>

#include "tests/double/machine/testing.h"

namespace doppio::gpu_double {
namespace {

using testing::ExitedWithCode;

TEST(Streams, RunTheWorkOfAStreamInItsOrder) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    DeviceInts a, b;
    EXPECT_EQ(Enqueue(stream, Set(a, 3)), cudaSuccess);
    EXPECT_EQ(Enqueue(stream, Set(b, 4)), cudaSuccess);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(Enqueue(stream, AddTo(a, b)), cudaSuccess);
    EXPECT_EQ(ValueOf(a, stream), 23);
  });
}

TEST(Streams, RunUnorderedWorkInAnyOrder) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Begin(seed, "late");
    std::string order;
    for (const char* name : {"a", "b", "c"}) {
      const cudaStream_t stream = NewStream();
      EXPECT_EQ(Enqueue(stream, Kernel(name, {}, [&order, name] { order += name; })), cudaSuccess);
    }
    EXPECT_EQ(order, "");
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    seen.insert(order);
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST(Streams, RunWorkAtOnceWhenTheOrderIsEarly) {
  Begin(1, "early");
  bool ran = false;
  EXPECT_EQ(Enqueue(NewStream(), Kernel("early", {}, [&] { ran = true; })), cudaSuccess);
  EXPECT_TRUE(ran);
}

TEST(Streams, RunASlowDeviceLast) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Begin(seed, "late", [](Settings* s) { s->slow_device = 0; });
    std::string order;
    const cudaStream_t slow = NewStream(0);
    EXPECT_EQ(Enqueue(slow, Kernel("s", {}, [&] { order += "s"; })), cudaSuccess);
    const cudaStream_t fast = NewStream(1);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(Enqueue(fast, Kernel("f", {}, [&] { order += "f"; })), cudaSuccess);
    }
    EXPECT_EQ(WaitFor(slow), cudaSuccess);
    EXPECT_EQ(order, "fffs");
  }
}

TEST(Streams, WaitForEventsOfOtherStreamsAndDevices) {
  InAnyOrder([] {
    const cudaStream_t second = NewStream(1), first = NewStream(0);
    DeviceInts a;
    const cudaEvent_t written = NewEvent();
    EXPECT_EQ(Enqueue(first, Set(a, 7)), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(written, first), cudaSuccess);
    // The wait is for the latest recording at this point, not for later ones.
    EXPECT_EQ(cudaStreamWaitEvent(second, written, 0), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    DeviceInts b;
    EXPECT_EQ(cudaMemcpyPeerAsync(b.at(), 1, a.at(), 0, sizeof(int), second), cudaSuccess);
    EXPECT_EQ(ValueOf(b, second), 7);
  });
}

TEST(Streams, TakeAnUnrecordedEventAsDone) {
  Begin(1, "late");
  const cudaStream_t stream = NewStream();
  const cudaEvent_t event = NewEvent();
  EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(WaitFor(stream), cudaSuccess);
}

void WriteTwice(bool wait) {
  const cudaStream_t first = NewStream(), second = NewStream();
  DeviceInts a;
  const cudaEvent_t written = NewEvent();
  Enqueue(first, Set(a, 1));
  cudaEventRecord(written, first);
  if (wait) cudaStreamWaitEvent(second, written, 0);
  Enqueue(second, Set(a, 2));
  cudaDeviceSynchronize();
}

TEST(StreamsDeathTest, FindWritesThatNothingOrders) {
  InAnyOrder([] { WriteTwice(true); });
  for (const char* order : {"late", "early", "random"}) {
    Begin(3, order);
    EXPECT_EXIT(WriteTwice(false), ExitedWithCode(kFaultStatus), "double: race");
    Begin(3, order, [](Settings* s) { s->plant = "event-not-waited"; });
    EXPECT_EXIT(WriteTwice(true), ExitedWithCode(kFaultStatus), "double: race");
    Begin(3, order, [](Settings* s) { s->plant = "event-not-recorded"; });
    EXPECT_EXIT(WriteTwice(true), ExitedWithCode(kFaultStatus), "double: race");
  }
}

TEST(Streams, OrderWorkByWaitsOfTheHost) {
  InAnyOrder([] {
    const cudaStream_t first = NewStream(), second = NewStream();
    DeviceInts a;
    const cudaEvent_t event = NewEvent();
    EXPECT_EQ(Enqueue(first, Set(a, 1)), cudaSuccess);
    EXPECT_EQ(WaitFor(first), cudaSuccess);
    EXPECT_EQ(Enqueue(second, Set(a, 2)), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, second), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_EQ(Enqueue(first, Set(a, 3)), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, first), cudaSuccess);
    while (cudaEventQuery(event) == cudaErrorNotReady) {
    }
    cudaGetLastError();
    EXPECT_EQ(Enqueue(second, Set(a, 4)), cudaSuccess);
    EXPECT_EQ(ValueOf(a, second), 4);
  });
}

TEST(Streams, OrderTheDefaultStreamWithBlockingStreams) {
  InAnyOrder([] {
    cudaStream_t blocking = nullptr;
    EXPECT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
    DeviceInts a, b;
    EXPECT_EQ(Enqueue(blocking, Set(a, 1)), cudaSuccess);
    EXPECT_EQ(Enqueue(nullptr, Set(b, 5)), cudaSuccess);
    EXPECT_EQ(Enqueue(nullptr, AddTo(a, b)), cudaSuccess);
    EXPECT_EQ(Enqueue(blocking, AddTo(b, a)), cudaSuccess);
    EXPECT_EQ(ValueOf(b, blocking), 11);
  });
}

TEST(Streams, RefuseWorkOfAnotherDevice) {
  Begin(1, "early");
  const cudaStream_t stream = NewStream(1);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(Enqueue(stream, Kernel("nothing", {}, [] {})), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(NewEvent(), stream), cudaErrorInvalidResourceHandle);
}

TEST(Streams, FinishTheWorkOfADestroyedStream) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    bool ran = false;
    EXPECT_EQ(Enqueue(stream, Kernel("late", {}, [&] { ran = true; })), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_TRUE(ran);
  });
}

// Writes twice to the same memory, on a stream and on another one that replaces it.
void WriteAndReplace(bool wait) {
  DeviceInts a;
  const cudaStream_t first = NewStream();
  Enqueue(first, Set(a, 1));
  if (wait) cudaStreamSynchronize(first);
  cudaStreamDestroy(first);
  const cudaStream_t second = NewStream();
  Enqueue(second, Set(a, 2));
  cudaDeviceSynchronize();
}

TEST(StreamsDeathTest, FindRacesWithTheWorkOfADestroyedStream) {
  InAnyOrder([] { WriteAndReplace(true); });
  for (const char* order : {"late", "early", "random"}) {
    Begin(3, order);
    EXPECT_EXIT(WriteAndReplace(false), ExitedWithCode(kFaultStatus), "double: race");
  }
}

// Each piece of work copies clocks, which have an entry for each actor.
TEST(Streams, AndGraphsReuseTheActorsOfDestroyedOnes) {
  Begin(1, "random");
  DeviceInts a;
  const int before = NewActor("before");
  for (int i = 0; i < 50; ++i) {
    const cudaStream_t stream = NewStream();
    const cudaGraphExec_t exec = Captured(stream, [&] { Enqueue(stream, Set(a, i)); });
    EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    EXPECT_EQ(ValueOf(a, stream), i);
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  EXPECT_EQ(NewActor("after") - before, 3);
}

TEST(StreamsDeathTest, FindUseOfWhatIsDestroyed) {
  Begin(1, "late");
  const cudaStream_t stream = NewStream();
  const cudaEvent_t event = NewEvent();
  cudaStreamDestroy(stream);
  cudaEventDestroy(event);
  EXPECT_EXIT(WaitFor(stream), ExitedWithCode(kFaultStatus), "double: stream");
  EXPECT_EXIT(cudaEventSynchronize(event), ExitedWithCode(kFaultStatus), "double: event");
}

TEST(Streams, LetQueriesReachTheEnd) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    int ran = 0;
    for (int i = 0; i < 10; ++i) Enqueue(stream, Kernel("step", {}, [&] { ++ran; }));
    while (cudaStreamQuery(stream) == cudaErrorNotReady) EXPECT_LT(ran, 10);
    EXPECT_EQ(ran, 10);
  });
}

TEST(Streams, RunHostFunctionsInOrder) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    PinnedInts host;
    DeviceInts a;
    EXPECT_EQ(Enqueue(stream, Set(a, 9)), cudaSuccess);
    cudaMemcpyAsync(host.at(), a.at(), sizeof(int), cudaMemcpyDeviceToHost, stream);
    EXPECT_EQ(cudaLaunchHostFunc(
                  stream, [](void* at) { *static_cast<int*>(at) += 1; }, host.at()),
              cudaSuccess);
    EXPECT_EQ(WaitFor(stream), cudaSuccess);
    EXPECT_EQ(*host.at(), 10);
  });
}

TEST(Streams, CountWhatTheyDo) {
  Begin(1, "late");
  const cudaStream_t stream = NewStream();
  DeviceInts a;
  const Counters before = ReadCounters();
  int value = 5;
  cudaMemcpyAsync(a.at(), &value, sizeof value, cudaMemcpyHostToDevice, stream);
  Enqueue(stream, Set(a, 1));
  WaitFor(stream);
  WaitFor(stream);  // there is nothing to wait for
  const Counters after = ReadCounters();
  EXPECT_EQ(after.uploads - before.uploads, 1);
  EXPECT_EQ(after.upload_bytes - before.upload_bytes, 4);
  EXPECT_EQ(after.kernels - before.kernels, 1);
  EXPECT_EQ(after.enqueued - before.enqueued, 2);
  EXPECT_EQ(after.host_waits - before.host_waits, 1);
}

}  // namespace
}  // namespace doppio::gpu_double

#include <set>
#include <thread>

#include "tests/double/machine/testing.h"

namespace doppio::gpu_double {
namespace {

using testing::ExitedWithCode;

TEST(Capture, ReplaysWithTheSavedArguments) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    DeviceInts a, b;
    Enqueue(stream, Set(a, 1));
    int argument = 2, runs = 0;
    const cudaGraphExec_t exec = Captured(stream, [&] {
      EXPECT_TRUE(IsCaptured(stream));
      Work work = Kernel("counting", {}, [&runs, argument] { runs += argument; });
      EXPECT_EQ(Enqueue(stream, work), cudaSuccess);
      EXPECT_EQ(Enqueue(stream, Set(b, argument)), cudaSuccess);
      EXPECT_EQ(Enqueue(stream, AddTo(a, b)), cudaSuccess);
    });
    EXPECT_FALSE(IsCaptured(stream));
    EXPECT_EQ(WaitFor(stream), cudaSuccess);
    EXPECT_EQ(runs, 0);
    argument = 100;
    const int64_t launches = ReadCounters().graph_launches;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    // Queued launches keep the work alive.
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    EXPECT_EQ(ValueOf(a, stream), 7);
    EXPECT_EQ(runs, 6);
    EXPECT_EQ(ReadCounters().graph_launches - launches, 3);
  });
}

struct Diamond {
  cudaStream_t main = NewStream(), side = NewStream();
  cudaEvent_t forked = NewEvent(), joined = NewEvent();
  std::string order;
  Work Step(const std::string& name) {
    return Kernel(name, {}, [this, name] { order += name; });
  }
  void Enqueue4(bool join) {
    Enqueue(main, Step("a"));
    EXPECT_EQ(cudaEventRecord(forked, main), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(side, forked, 0), cudaSuccess);
    Enqueue(side, Step("b"));
    Enqueue(main, Step("c"));
    EXPECT_EQ(cudaEventRecord(joined, side), cudaSuccess);
    if (join) {
      EXPECT_EQ(cudaStreamWaitEvent(main, joined, 0), cudaSuccess);
    }
    Enqueue(main, Step("d"));
  }
};

TEST(Capture, RunsBranchesInAnyOrder) {
  std::set<std::string> seen;
  InAnyOrder([&] {
    Diamond diamond;
    const cudaGraphExec_t exec = Captured(diamond.main, [&] { diamond.Enqueue4(true); });
    EXPECT_EQ(cudaGraphLaunch(exec, diamond.main), cudaSuccess);
    EXPECT_EQ(WaitFor(diamond.main), cudaSuccess);
    seen.insert(diamond.order);
  });
  EXPECT_EQ(seen, (std::set<std::string>{"abcd", "acbd"}));
}

void RaceInGraph(bool conflict) {
  const cudaStream_t main = NewStream(), side = NewStream();
  const cudaEvent_t forked = NewEvent(), joined = NewEvent();
  DeviceInts a, b;
  const cudaGraphExec_t exec = Captured(main, [&] {
    Enqueue(main, Set(a, 1));
    cudaEventRecord(forked, main);
    cudaStreamWaitEvent(side, forked, 0);
    Enqueue(side, Set(b, 2));
    if (conflict) Enqueue(main, AddTo(a, b));
    cudaEventRecord(joined, side);
    cudaStreamWaitEvent(main, joined, 0);
    Enqueue(main, AddTo(a, b));
  });
  for (int i = 0; i < 3; ++i) cudaGraphLaunch(exec, main);
  Enqueue(main, AddTo(b, a));
  EXPECT_EQ(ValueOf(b, main), 5);
}

TEST(CaptureDeathTest, FindsRacesOfBranches) {
  InAnyOrder([] { RaceInGraph(false); });
  for (const char* order : {"late", "early", "random"}) {
    Begin(2, order);
    EXPECT_EXIT(RaceInGraph(true), ExitedWithCode(kFaultStatus), "double: race");
  }
}

TEST(Capture, RefusesWorkThatIsNotJoined) {
  Begin(1, "random");
  Diamond diamond;
  EXPECT_EQ(BeginCapture(diamond.main), cudaSuccess);
  diamond.Enqueue4(false);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(diamond.main, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  EXPECT_FALSE(IsCaptured(diamond.side));
  // The streams work as before the capture, and none of the captured work has run.
  EXPECT_EQ(Enqueue(diamond.side, diamond.Step("x")), cudaSuccess);
  EXPECT_EQ(WaitFor(diamond.side), cudaSuccess);
  EXPECT_EQ(diamond.order, "x");
  // The event was recorded only in the capture.
  EXPECT_EQ(cudaEventSynchronize(diamond.joined), cudaErrorCapturedEvent);
}

// Checks that `act` in a capture returns `error` and invalidates the capture.
void ExpectRefused(cudaError_t error, const std::function<cudaError_t(cudaStream_t)>& act,
                   cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
  const cudaStream_t stream = NewStream();
  EXPECT_EQ(BeginCapture(stream, mode), cudaSuccess);
  EXPECT_EQ(act(stream), error);
  EXPECT_EQ(cudaGetLastError(), error);
  EXPECT_EQ(Enqueue(stream, Kernel("more", {}, [] {})), cudaErrorStreamCaptureInvalidated);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(WaitFor(stream), cudaSuccess);
  cudaGetLastError();
}

TEST(Capture, RefusesWhatWaits) {
  Begin(1, "random");
  const cudaError_t refused = cudaErrorStreamCaptureUnsupported;
  DeviceInts a;
  PinnedInts pinned;
  int pageable = 0;
  const cudaEvent_t event = NewEvent();
  const cudaStream_t other = NewStream();
  ExpectRefused(refused, [](cudaStream_t s) { return cudaStreamSynchronize(s); });
  ExpectRefused(refused, [](cudaStream_t s) { return cudaStreamQuery(s); });
  ExpectRefused(refused, [&](cudaStream_t) { return cudaStreamSynchronize(other); });
  ExpectRefused(refused, [&](cudaStream_t) { return cudaEventSynchronize(event); });
  ExpectRefused(refused, [&](cudaStream_t) { return cudaEventQuery(event); });
  ExpectRefused(refused, [](cudaStream_t) { return cudaDeviceSynchronize(); });
  ExpectRefused(refused, [](cudaStream_t) {
    void* memory = nullptr;
    return cudaMalloc(&memory, 4);
  });
  ExpectRefused(refused, [&](cudaStream_t) { return cudaFree(a.at()); });
  ExpectRefused(refused, [&](cudaStream_t) { return cudaMemset(a.at(), 0, 4); });
  ExpectRefused(refused, [&](cudaStream_t) {
    return cudaMemcpy(a.at(), &pageable, 4, cudaMemcpyHostToDevice);
  });
  ExpectRefused(refused, [&](cudaStream_t s) {
    return cudaMemcpyAsync(&pageable, a.at(), 4, cudaMemcpyDeviceToHost, s);
  });
  ExpectRefused(refused, [](cudaStream_t) { return Forbid("a call of a library"); });
  EXPECT_EQ(Forbid("a call outside of captures"), cudaSuccess);
}

TEST(Capture, RefusesEventsFromOutside) {
  Begin(1, "random");
  const cudaStream_t other = NewStream();
  const cudaEvent_t event = NewEvent();
  EXPECT_EQ(cudaEventRecord(event, other), cudaSuccess);
  ExpectRefused(cudaErrorStreamCaptureIsolation,
                [&](cudaStream_t s) { return cudaStreamWaitEvent(s, event, 0); });
}

TEST(Capture, RefusesToBeEndedElsewhere) {
  Begin(1, "random");
  const cudaStream_t stream = NewStream();
  EXPECT_EQ(BeginCapture(stream), cudaSuccess);
  cudaGraph_t graph = nullptr;
  std::thread([&] {
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureWrongThread);
  }).join();
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
}

TEST(Capture, RefusesTheDefaultStream) {
  Begin(1, "random");
  EXPECT_EQ(BeginCapture(nullptr), cudaErrorStreamCaptureUnsupported);
  cudaStream_t blocking = nullptr;
  EXPECT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  DeviceInts a;
  EXPECT_EQ(BeginCapture(blocking), cudaSuccess);
  EXPECT_EQ(Enqueue(nullptr, Set(a, 1)), cudaErrorStreamCaptureImplicit);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
}

cudaError_t MallocInThread() {
  cudaError_t error = cudaSuccess;
  std::thread([&] {
    void* memory = nullptr;
    error = cudaMalloc(&memory, 4);
    cudaFree(memory);
  }).join();
  return error;
}

TEST(Capture, ForbidsOtherThreadsByItsMode) {
  Begin(1, "random");
  const cudaStream_t stream = NewStream();
  for (const auto mode : {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed,
                          cudaStreamCaptureModeGlobal}) {
    const bool global = mode == cudaStreamCaptureModeGlobal;
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(BeginCapture(stream, mode), cudaSuccess);
    EXPECT_EQ(MallocInThread(), global ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph),
              global ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  // A relaxed capture lets its own thread allocate memory too.
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(BeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  { DeviceInts a; }
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphDestroy(graph);
}

}  // namespace
}  // namespace doppio::gpu_double

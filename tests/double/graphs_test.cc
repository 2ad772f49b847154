#include <cstdlib>

#include "tests/double/machine/testing.h"

namespace doppio::gpu_double {
namespace {

using testing::ExitedWithCode;

TEST(Capture, UpdatesAGraphOfTheSameShape) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    DeviceInts a, b;
    const auto graph_of = [&](int value, bool longer) {
      cudaGraph_t graph = nullptr;
      EXPECT_EQ(BeginCapture(stream), cudaSuccess);
      Enqueue(stream, Set(b, value));
      Enqueue(stream, AddTo(a, b));
      if (longer) Enqueue(stream, AddTo(a, b));
      EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
      return graph;
    };
    const cudaGraph_t one = graph_of(1, false), ten = graph_of(10, false), more = graph_of(0, true);
    Enqueue(stream, Set(a, 0));
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiateWithFlags(&exec, one, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphUpload(exec, stream), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    cudaGraphExecUpdateResultInfo info;
    // The queued launch keeps its arguments.
    EXPECT_EQ(cudaGraphExecUpdate(exec, ten, &info), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    EXPECT_EQ(cudaGraphExecUpdate(exec, more, &info), cudaErrorGraphExecUpdateFailure);
    EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    size_t nodes = 0;
    EXPECT_EQ(cudaGraphGetNodes(more, nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, 3u);
    EXPECT_EQ(ValueOf(a, stream), 11);
  });
}

TEST(Capture, SerialisesLaunchesOnSeveralStreams) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream(), other = NewStream();
    DeviceInts a, b;
    Enqueue(stream, Set(a, 0));
    Enqueue(stream, Set(b, 1));
    EXPECT_EQ(WaitFor(stream), cudaSuccess);
    const cudaGraphExec_t exec = Captured(stream, [&] {
      Enqueue(stream, AddTo(a, b));
      Enqueue(stream, AddTo(b, a));
    });
    // The values are 0 1, 1 2, 3 5, 8 13, 21 34. They differ if launches overlap.
    for (int i = 0; i < 4; ++i) cudaGraphLaunch(exec, i % 2 == 0 ? stream : other);
    EXPECT_EQ(ValueOf(a, other), 21);
  });
}

TEST(Capture, MeetsAgainInEachReplay) {
  InAnyOrder([] {
    const auto meeting = std::make_shared<Meeting>(2);
    cudaStream_t streams[2];
    cudaGraphExec_t execs[2];
    int ran[2] = {0, 0};
    for (int rank = 0; rank < 2; ++rank) {
      streams[rank] = NewStream(rank);
      execs[rank] = Captured(streams[rank], [&] {
        Work work = Kernel("a member", {}, [&ran, rank] {
          ++ran[rank];
          EXPECT_LE(std::abs(ran[0] - ran[1]), 1);
        });
        work.meeting = meeting;
        Enqueue(streams[rank], work);
      });
    }
    for (int rank : {0, 0, 1, 0, 1, 1}) cudaGraphLaunch(execs[rank], streams[rank]);
    EXPECT_EQ(WaitFor(streams[0]), cudaSuccess);
    EXPECT_EQ(WaitFor(streams[1]), cudaSuccess);
    EXPECT_EQ(ran[0], 3);
    EXPECT_EQ(ran[1], 3);
  });
}

void LaunchAfterFree() {
  const cudaStream_t stream = NewStream();
  cudaGraphExec_t exec = nullptr;
  {
    DeviceInts a;
    exec = Captured(stream, [&] { Enqueue(stream, Set(a, 1)); });
  }
  cudaGraphLaunch(exec, stream);
}

TEST(CaptureDeathTest, FindsGraphsThatOutliveTheirMemory) {
  Begin(1, "random");
  EXPECT_EXIT(LaunchAfterFree(), ExitedWithCode(kFaultStatus), "double: lifetime");
}

TEST(Capture, ReadsPinnedMemoryWhenItIsReplayed) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    DeviceInts a;
    PinnedInts source, destination;
    *source.at() = 1;
    const cudaGraphExec_t exec = Captured(stream, [&] {
      cudaMemcpyAsync(a.at(), source.at(), 4, cudaMemcpyHostToDevice, stream);
      cudaMemcpyAsync(destination.at(), a.at(), 4, cudaMemcpyDeviceToHost, stream);
    });
    for (int i = 2; i < 5; ++i) {
      *source.at() = i;
      EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
      EXPECT_EQ(WaitFor(stream), cudaSuccess);
      EXPECT_EQ(*destination.at(), i);
    }
  });
}

}  // namespace
}  // namespace doppio::gpu_double

// Helpers for tests of the machine: a fresh machine, small pieces of work, and memory that frees
// itself.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_TESTING_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_TESTING_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/double/machine/fault.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/settings.h"
#include "tests/double/machine/streams.h"

namespace doppio::gpu_double {

// How a process ends in which the double has found a mistake.
inline const testing::ExitedWithCode kFault(kFaultStatus);

constexpr int kSeeds = 20;

// Starts a machine with these settings and discards the previous one.
inline void Begin(uint64_t seed, const std::string& order,
                  const std::function<void(Settings*)>& edit = nullptr) {
  Settings settings;
  settings.seed = seed;
  settings.order = order;
  if (edit) edit(&settings);
  Use(settings);
  ResetMachine();
}

inline std::function<void(Settings*)> Planting(const std::string& plant) {
  return [plant](Settings* s) { s->plant = plant; };
}

// Runs `test` on fresh machines: for each order, under kSeeds seeds.
inline void InAnyOrder(const std::function<void()>& test,
                       const std::function<void(Settings*)>& edit = nullptr) {
  for (const char* order : {"late", "early", "random"}) {
    for (int seed = 1; seed <= kSeeds; ++seed) {
      SCOPED_TRACE(std::string(order) + ", seed " + std::to_string(seed));
      Begin(static_cast<uint64_t>(seed), order, edit);
      test();
      if (testing::Test::HasFailure()) return;
    }
  }
}

class DeviceInts {
 public:
  explicit DeviceInts(int count = 1) : bytes_(static_cast<size_t>(count) * sizeof(int)) {
    void* at = nullptr;
    EXPECT_EQ(cudaMalloc(&at, bytes_), cudaSuccess);
    at_ = static_cast<int*>(at);
  }
  ~DeviceInts() { cudaFree(at_); }
  DeviceInts(const DeviceInts&) = delete;
  DeviceInts& operator=(const DeviceInts&) = delete;
  int* at() const { return at_; }
  Access Reads() const { return {at_, static_cast<int64_t>(bytes_), false}; }
  Access Writes() const { return {at_, static_cast<int64_t>(bytes_), true}; }

 private:
  const size_t bytes_;
  int* at_ = nullptr;
};

class PinnedInts {
 public:
  explicit PinnedInts(int count = 1) {
    void* at = nullptr;
    EXPECT_EQ(cudaHostAlloc(&at, static_cast<size_t>(count) * sizeof(int), cudaHostAllocPortable),
              cudaSuccess);
    at_ = static_cast<int*>(at);
  }
  ~PinnedInts() { cudaFreeHost(at_); }
  PinnedInts(const PinnedInts&) = delete;
  PinnedInts& operator=(const PinnedInts&) = delete;
  int* at() const { return at_; }

 private:
  int* at_ = nullptr;
};

inline cudaStream_t NewStream(int device = 0) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  return stream;
}

inline cudaEvent_t NewEvent() {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  return event;
}

inline Work Kernel(const std::string& what, std::vector<Access> accesses,
                   const std::function<void()>& body) {
  Work work;
  work.what = what;
  work.accesses = std::move(accesses);
  work.run = [body] {
    body();
    return std::vector<Access>();
  };
  work.counter = &Counters::kernels;
  return work;
}

// Returns work that sets the first integer to `value`.
inline Work Set(const DeviceInts& ints, int value) {
  int* at = ints.at();
  return Kernel("setting", {ints.Writes()}, [=] { *at = value; });
}

// Returns work that adds the first integer of `from` to that of `to`.
inline Work AddTo(const DeviceInts& to, const DeviceInts& from) {
  int* out = to.at();
  const int* in = from.at();
  return Kernel("adding", {to.Reads(), to.Writes(), from.Reads()}, [=] { *out += *in; });
}

inline cudaError_t BeginCapture(cudaStream_t stream,
                                cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
  return cudaStreamBeginCapture(stream, mode);
}

// Returns the executable graph of the work that `work` enqueues on `stream`.
inline cudaGraphExec_t Captured(cudaStream_t stream, const std::function<void()>& work) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(BeginCapture(stream), cudaSuccess);
  work();
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  return exec;
}

// Copies the value to the host after all work of the stream. Blocks.
inline int ValueOf(const DeviceInts& ints, cudaStream_t stream) {
  int value = -1;
  EXPECT_EQ(cudaMemcpyAsync(&value, ints.at(), sizeof value, cudaMemcpyDeviceToHost, stream),
            cudaSuccess);
  return value;
}

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_TESTING_H_

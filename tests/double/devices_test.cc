#include <set>
#include <thread>

#include "tests/double/machine/testing.h"

namespace doppio::gpu_double {
namespace {

TEST(Devices, AreAbsentOnRequest) {
  Begin(1, "random", [](Settings* s) { s->devices = 0; });
  int count = 7;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  EXPECT_EQ(count, 0);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorNoDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNoDevice);
}

TEST(Devices, DescribeThemselves) {
  Begin(1, "random", [](Settings* s) { s->capability = 80; });
  std::set<std::string> buses;
  int count = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 4);
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    EXPECT_EQ(cudaGetDeviceProperties(&properties, i), cudaSuccess);
    EXPECT_EQ(properties.major, 8);
    int value = 0;
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, i), cudaSuccess);
    EXPECT_EQ(value, properties.multiProcessorCount);
    char bus[32] = "";
    EXPECT_EQ(cudaDeviceGetPCIBusId(bus, sizeof bus, i), cudaSuccess);
    buses.insert(bus);
  }
  EXPECT_EQ(buses.size(), 4u);
  EXPECT_EQ(cudaSetDevice(4), cudaErrorInvalidDevice);
  EXPECT_STREQ(cudaGetErrorName(cudaGetLastError()), "cudaErrorInvalidDevice");
  PinnedInts pinned;
  DeviceInts a;
  cudaPointerAttributes attributes;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, a.at()), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, pinned.at()), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, &attributes), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

TEST(Devices, MeasureTimeBetweenEvents) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    cudaEvent_t start = nullptr, end = nullptr;
    cudaEventCreate(&start);
    cudaEventCreate(&end);
    float ms = -1;
    EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaErrorInvalidResourceHandle);
    cudaEventRecord(start, stream);
    // Real time, which the events measure.
    Enqueue(stream, Kernel("two milliseconds", {},
                           [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }));
    cudaEventRecord(end, stream);
    if (TheSettings().order == "late") {
      EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaErrorNotReady);
    }
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaSuccess);
    EXPECT_GT(ms, 1.9f);
    EXPECT_EQ(cudaEventElapsedTime(&ms, start, NewEvent()), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
  });
}

TEST(Devices, MayMeasureBytesInsteadOfTime) {
  const auto by_bytes = [](Settings* s) { s->clock = "bytes"; };
  InAnyOrder(
      [] {
        const DeviceInts ints(1000);
        const cudaStream_t stream = NewStream();
        cudaEvent_t start = nullptr, end = nullptr;
        cudaEventCreate(&start);
        cudaEventCreate(&end);
        Enqueue(stream, Kernel("before", {ints.Writes()}, [] {}));
        cudaEventRecord(start, stream);
        for (int i = 0; i < 3; ++i) Enqueue(stream, Kernel("timed", {ints.Reads()}, [] {}));
        cudaEventRecord(end, stream);
        Enqueue(stream, Kernel("after", {ints.Writes()}, [] {}));
        EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
        float ms = -1;
        EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaSuccess);
        EXPECT_FLOAT_EQ(ms, 0.012f);
      },
      by_bytes);
}

}  // namespace
}  // namespace doppio::gpu_double

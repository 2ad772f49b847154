#include "tests/double/machine/testing.h"

namespace doppio::gpu_double {
namespace {

using testing::ExitedWithCode;

TEST(Copies, TakeAPageableSourceAtTheCall) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    DeviceInts a;
    int value = 5;
    EXPECT_EQ(cudaMemcpyAsync(a.at(), &value, 4, cudaMemcpyHostToDevice, stream), cudaSuccess);
    value = 6;
    EXPECT_EQ(ValueOf(a, stream), 5);
  });
}

TEST(Copies, RefuseADirectionThatTheAddressesDoNotHave) {
  Begin(1, "late");
  const cudaStream_t stream = NewStream();
  DeviceInts a, b;
  PinnedInts pinned;
  int pageable = 0;
  const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, 4, kind, stream);
  };
  EXPECT_EQ(copy(a.at(), b.at(), cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(&pageable, b.at(), cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(a.at(), b.at(), cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(copy(a.at(), pinned.at(), cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(&pageable, 0, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyPeerAsync(a.at(), 1, b.at(), 0, 4, stream), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(a.at(), 0, 4), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(copy(b.at(), a.at(), cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(copy(&pageable, b.at(), cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(&pageable, b.at(), 4, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(pageable, 0);
}

// Large clearings release whole pages.
TEST(Copies, ClearAllTheirBytesAndNoOthers) {
  Begin(1, "random");
  constexpr size_t kBytes = 3 << 20;
  std::vector<char> bytes(kBytes);
  for (const auto& [from, count] : std::vector<std::pair<size_t, size_t>>{
           {0, kBytes}, {0, 100}, {4095, 2 << 20}, {8192, 2 << 20}, {4097, (2 << 20) + 5000}}) {
    for (const bool pinned : {false, true}) {
      void* at = nullptr;
      ASSERT_EQ(
          pinned ? cudaHostAlloc(&at, kBytes, cudaHostAllocPortable) : cudaMalloc(&at, kBytes),
          cudaSuccess);
      char* const begin = static_cast<char*>(at);
      EXPECT_EQ(cudaMemset(begin, 7, kBytes), cudaSuccess);
      EXPECT_EQ(cudaMemset(begin + from, 0, count), cudaSuccess);
      EXPECT_EQ(cudaMemcpy(bytes.data(), begin, kBytes, cudaMemcpyDefault), cudaSuccess);
      for (size_t i = 0; i < kBytes; ++i) {
        ASSERT_EQ(bytes[i], i >= from && i < from + count ? 0 : 7) << i << " of " << from;
      }
      EXPECT_EQ(pinned ? cudaFreeHost(at) : cudaFree(at), cudaSuccess);
    }
  }
}

TEST(Copies, PoisonAPinnedDestinationUntilTheyAreDone) {
  Begin(1, "late");
  const cudaStream_t stream = NewStream();
  DeviceInts a;
  PinnedInts host;
  *host.at() = 1;
  EXPECT_EQ(Enqueue(stream, Set(a, 2)), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(host.at(), a.at(), 4, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT_EQ(*host.at(), -1);
  EXPECT_EQ(WaitFor(stream), cudaSuccess);
  EXPECT_EQ(*host.at(), 2);
}

// Writes and reads one slot repeatedly, as the offload of activations does.
TEST(Copies, UseAPinnedSlotAgainInStreamOrder) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    DeviceInts a, one;
    PinnedInts slot;
    Enqueue(stream, Set(a, 0));
    Enqueue(stream, Set(one, 1));
    for (int i = 0; i < 5; ++i) {
      Enqueue(stream, AddTo(a, one));
      cudaMemcpyAsync(slot.at(), a.at(), 4, cudaMemcpyDeviceToHost, stream);
      Enqueue(stream, Set(a, -7));
      cudaMemcpyAsync(a.at(), slot.at(), 4, cudaMemcpyHostToDevice, stream);
    }
    EXPECT_EQ(ValueOf(a, stream), 5);
  });
}

void StageTwice(bool wait) {
  const cudaStream_t stream = NewStream();
  const cudaEvent_t copied = NewEvent();
  DeviceInts a;
  PinnedInts staging;
  for (int i = 0; i < 2; ++i) {
    *staging.at() = i;
    cudaMemcpyAsync(a.at(), staging.at(), 4, cudaMemcpyHostToDevice, stream);
    cudaEventRecord(copied, stream);
    if (wait) cudaEventSynchronize(copied);
  }
  WaitFor(stream);
}

TEST(CopiesDeathTest, FindPinnedMemoryThatTheHostChangesTooEarly) {
  InAnyOrder([] { StageTwice(true); });
  Begin(1, "late");
  EXPECT_EXIT(StageTwice(false), ExitedWithCode(kFaultStatus), "double: pinned");
  Begin(1, "late", Planting("host-wait-skipped"));
  EXPECT_EXIT(StageTwice(true), ExitedWithCode(kFaultStatus), "double: pinned");
}

void UploadBesideComputing() {
  const cudaStream_t upload = NewStream(), compute = NewStream();
  const cudaEvent_t copied = NewEvent(), computed = NewEvent();
  DeviceInts a, sum;
  PinnedInts staging;
  *staging.at() = 3;
  Enqueue(compute, Set(sum, 0));
  for (int i = 0; i < 3; ++i) {
    cudaStreamWaitEvent(upload, computed, 0);
    cudaMemcpyAsync(a.at(), staging.at(), 4, cudaMemcpyHostToDevice, upload);
    cudaEventRecord(copied, upload);
    cudaStreamWaitEvent(compute, copied, 0);
    Enqueue(compute, AddTo(sum, a));
    cudaEventRecord(computed, compute);
  }
  EXPECT_EQ(ValueOf(sum, compute), 9);
}

TEST(CopiesDeathTest, FindUploadsThatAreNotAwaited) {
  InAnyOrder(UploadBesideComputing);
  for (const char* order : {"late", "early", "random"}) {
    Begin(1, order, Planting("upload-not-awaited"));
    EXPECT_EXIT(UploadBesideComputing(), ExitedWithCode(kFaultStatus), "double: race");
  }
}

}  // namespace
}  // namespace doppio::gpu_double

// Tests that blocks parked in host memory return unchanged.
#include "core/device/host_store.h"
#include "core/device/kind_cuda.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace doppio {
namespace {

std::vector<float> Read(Device* device, const void* memory, size_t count) {
  std::vector<float> values(count);
  device->CopyToHost(values.data(), memory, static_cast<int64_t>(count * sizeof(float)));
  return values;
}

void Write(Device* device, void* memory, size_t count, float value) {
  const std::vector<float> values(count, value);
  device->CopyFromHost(memory, values.data(), static_cast<int64_t>(count * sizeof(float)));
}

void ExpectReturned(Device* device) {
  constexpr size_t kSmall = 3, kLarge = 100000;
  const Buffer small(device, kSmall * sizeof(float)), large(device, kLarge * sizeof(float));
  const std::unique_ptr<HostStore> store =
      MakeHostStore(device, {{small.data(), small.bytes()}, {large.data(), large.bytes()}});
  // Runs twice, like two iterations.
  for (const float value : {1.0F, 5.0F}) {
    Write(device, small.data(), kSmall, value);
    Write(device, large.data(), kLarge, value + 1);
    store->Save(0);
    store->Save(1);
    store->Saved(1);
    store->Saved(0);
    Write(device, small.data(), kSmall, -1);
    Write(device, large.data(), kLarge, -1);
    store->Fetch(1);
    store->Fetch(0);
    store->Fetched(0);
    store->Fetched(1);
    EXPECT_EQ(Read(device, small.data(), kSmall), std::vector<float>(kSmall, value));
    EXPECT_EQ(Read(device, large.data(), kLarge), std::vector<float>(kLarge, value + 1));
  }
}

TEST(HostStore, ReturnsWhatItWasGiven) { ExpectReturned(MakeCpuDevice().get()); }

TEST(HostStore, ReturnsWhatAGpuGave) {
  const DeviceBackend* backend = DeviceBackends::Get().Find(kCudaKind);
  if (backend == nullptr) GTEST_SKIP() << "a build without CUDA";
  std::unique_ptr<Device> gpu;
  try {
    gpu = backend->make(0);
  } catch (const DeviceError& e) {
    GTEST_SKIP() << e.message();
  }
  ExpectReturned(gpu.get());
}

}  // namespace
}  // namespace doppio

#include "core/device/device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/base/threads.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

TEST(CpuDevice, GivesZeroedAlignedMemoryAndTakesItBack) {
  std::unique_ptr<Device> device = MakeCpuDevice();
  for (int64_t bytes : {1, 100, 5000, 3 << 20}) {
    void* memory = device->Allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    const char* p = static_cast<char*>(memory);
    for (int64_t i = 0; i < bytes; ++i) ASSERT_EQ(p[i], 0);
    std::memset(memory, 1, static_cast<size_t>(bytes));
    device->Free(memory);
    EXPECT_EQ(device->bytes_in_use(), 0);
    // The device returns the same block, zeroed again.
    void* again = device->Allocate(bytes);
    EXPECT_EQ(again, memory);
    EXPECT_EQ(static_cast<char*>(again)[bytes - 1], 0);
    device->Free(again);
  }
  EXPECT_GE(device->peak_bytes(), 3 << 20);
}

TEST(CpuDevice, SaysWhenTheHostHasNoMemoryLeft) {
  std::unique_ptr<Device> device = MakeCpuDevice();
  EXPECT_THROW(device->Allocate(int64_t{1} << 60), MemoryError);
}

struct First {
  explicit First(Device*) {}
  ~First() {
    if (log != nullptr) *log += "first ";
  }
  std::string* log = nullptr;
};
struct Second {
  explicit Second(Device* device) : first(&device->attached().Get<First>("b")) {}
  ~Second() {
    if (first->log != nullptr) *first->log += "second ";
  }
  First* first;
};

TEST(Device, DropsFirstWhatWasAttachedLast) {
  std::string log;
  std::unique_ptr<Device> device = MakeCpuDevice();
  Second& second = device->attached().Get<Second>("a");
  EXPECT_EQ(&device->attached().Get<Second>("a"), &second);
  EXPECT_EQ(&device->attached().Get<First>("b"), second.first);
  second.first->log = &log;
  device.reset();
  EXPECT_EQ(log, "second first ");
}

TEST(AttachedObjects, AreMadeAgainAfterClear) {
  AttachedObjects attached(nullptr);
  std::string log;
  attached.Get<First>("a").log = &log;
  attached.Get<First>("b");
  EXPECT_EQ(attached.Get<First>("a").log, &log);
  attached.Clear();
  EXPECT_EQ(log, "first ");
  EXPECT_EQ(attached.Get<First>("a").log, nullptr);
}

TEST(Buffer, FreesWhatItOwnsOnce) {
  std::unique_ptr<Device> device = MakeCpuDevice();
  {
    Buffer a(device.get(), 1000);
    Buffer b = std::move(a);
    EXPECT_EQ(a.data(), nullptr);
    EXPECT_NE(b.data(), nullptr);
    b = Buffer(device.get(), 10);
  }
  EXPECT_EQ(device->bytes_in_use(), 0);
}

TEST(CpuDevice, ComputesInTheHostsMemoryAtOnce) {
  const auto cpu = MakeCpuDevice();
  EXPECT_EQ(cpu->kind(), "CPU");
  EXPECT_TRUE(cpu->properties.host_memory);
  EXPECT_FALSE(cpu->properties.asynchronous);
  EXPECT_FALSE(cpu->properties.listed);
  EXPECT_EQ(cpu->properties.algorithm_library, "");
  EXPECT_EQ(cpu->properties.threads, 0);
  EXPECT_EQ(cpu->properties.cpu_share.parts, 1);
}

TEST(CpuDevice, HasItsPartOfTheThreads) {
  const ThreadCount threads(4);
  const auto part = MakeCpuPart({1, 2}, "half");
  const auto small = MakeCpuPart({0, 8}, "small");
  EXPECT_EQ(part->properties.threads, 2);
  EXPECT_EQ(part->properties.cpu_share.part, 1);
  EXPECT_EQ(part->properties.cpu_share.parts, 2);
  EXPECT_EQ(part->name(), "half (2 threads)");
  EXPECT_EQ(small->name(), "small (1 threads)");
}

TEST(DeviceBackend, IsMissingWithAnExplanation) {
  if (FindDeviceBackend() != nullptr) GTEST_SKIP() << "a backend is linked";
  EXPECT_EQ(
      Mistake<DeviceError>([] { LinkedDeviceBackend("use the CPU"); }),
      "this build of Doppio has no GPU support, because CUDA was not found when it was built; "
      "use the CPU");
}

}  // namespace
}  // namespace doppio

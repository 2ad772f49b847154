// Tests a build with CUDA: its registered backend, its behaviour without a GPU, and the memory of a
// GPU.
#include "core/device/device_cuda.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "core/device/gpus_cuda.h"
#include "tests/core/device/first_gpu.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

const DeviceBackend& Backend() { return *DeviceBackends::Get().Find("CUDA"); }

void ExpectParts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks " << part;
  }
}

TEST(CudaBackend, IsRegistered) { ASSERT_NE(DeviceBackends::Get().Find("CUDA"), nullptr); }

TEST(CudaBackend, SaysWhatToDoWhereThereIsNoGpu) {
  std::string why;
  if (FirstGpu(&why) != nullptr) GTEST_SKIP() << "this machine has a GPU";
  for (const std::string& message : {Mistake<DeviceError>([] { Backend().list(); }),
                                     Mistake<DeviceError>([] { Backend().make(0); })}) {
    ExpectParts(message, {"driver", "omit --gpu to use the CPU"});
    EXPECT_EQ(message, why);
  }
}

TEST(CudaBackend, NamesTheGpusThatExistWhenAskedForAnother) {
  std::string why;
  if (FirstGpu(&why) == nullptr) GTEST_SKIP() << why;
  ExpectParts(Mistake<DeviceError>([] { Backend().make(1000); }),
              {"there is no GPU 1000; this machine has 0 (", Backend().list()[0].name});
  EXPECT_NE(Mistake<DeviceError>([] { Backend().make(-1); }).find("there is no GPU -1"),
            std::string::npos);
}

TEST(CudaBackend, KnowsWhichGpusItsCodeRunsOn) {
  const std::vector<int> archs = {800, 900};
  EXPECT_EQ(WhyNoCode(8, 0, archs), "");
  EXPECT_EQ(WhyNoCode(8, 9, archs), "");
  EXPECT_EQ(WhyNoCode(9, 0, archs), "");
  EXPECT_EQ(WhyNoCode(12, 1, archs), "");
  ExpectParts(WhyNoCode(7, 5, archs),
              {"compute capability 7.5", "compiled for 8.0, 9.0;", "DOPPIO_CUDA_ARCHS=75"});
  EXPECT_NE(WhyNoCode(8, 0, {860, 900}), "");
  ASSERT_FALSE(CompiledArchs().empty());
  EXPECT_TRUE(std::is_sorted(CompiledArchs().begin(), CompiledArchs().end()));
  EXPECT_EQ(WhyNoCode(CompiledArchs()[0] / 100, CompiledArchs()[0] % 100 / 10, CompiledArchs()),
            "");
}

TEST(CudaBackend, NamesTheDriverThatItNeeds) {
  ExpectParts(WhyDriverTooOld(12040, 13000, "550.54.15"),
              {"driver 550.54.15 is too old", "supports CUDA 12.4", "needs 13.0",
               "install driver 580 or newer", "cuda-compat-13-0", "/usr/local/cuda-13.0/compat"});
  ExpectParts(WhyDriverTooOld(11080, 12020, ""),
              {"the NVIDIA driver is too old", "driver 525 or newer", "cuda-compat-12-2"});
  ExpectParts(WhyDriverTooOld(13000, 99010, ""), {"install a newer driver", "cuda-compat-99-1"});
}

TEST(CudaDevice, GivesZeroedAlignedMemoryAndTakesItBack) {
  std::string why;
  const std::unique_ptr<Device> device = FirstGpu(&why);
  if (device == nullptr) GTEST_SKIP() << why;
  for (int64_t bytes : {1, 100, 5000, 3 << 20}) {
    void* memory = device->Allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    EXPECT_GE(device->bytes_in_use(), bytes);
    const std::vector<char> ones(static_cast<size_t>(bytes), 1);
    std::vector<char> read(ones);
    device->CopyToHost(read.data(), memory, bytes);
    EXPECT_EQ(read, std::vector<char>(read.size()));
    device->CopyFromHost(memory, ones.data(), bytes);
    device->CopyToHost(read.data(), memory, bytes);
    EXPECT_EQ(read, ones);
    device->Free(memory);
    EXPECT_EQ(device->bytes_in_use(), 0);
    void* again = device->Allocate(bytes);
    EXPECT_EQ(again, memory);
    device->CopyToHost(read.data(), again, bytes);
    EXPECT_EQ(read, std::vector<char>(read.size()));
    device->Free(again);
  }
  EXPECT_EQ(device->peak_bytes(), 4 << 20);
}

TEST(CudaDevice, SaysHowMuchMemoryIsLeft) {
  std::string why;
  const std::unique_ptr<Device> device = FirstGpu(&why);
  if (device == nullptr) GTEST_SKIP() << why;
  device->Free(device->Allocate(1 << 20));  // leaves a block in the cache, which can be released
  ExpectParts(Mistake<MemoryError>([&] { device->Allocate(int64_t{1} << 50); }),  // a PiB
              {device->name(), "cannot allocate 1073741824 MiB", "are free", "batch_size"});
  device->Free(device->Allocate(1 << 20));  // the device still works
}

TEST(CudaDevice, MayLoseADownloadThatIsNotAwaited) {
  std::string why;
  const std::unique_ptr<Device> device = FirstGpu(&why);
  if (device == nullptr) GTEST_SKIP() << why;
  std::vector<int> sent(100'000, 3);
  const int64_t bytes = static_cast<int64_t>(sent.size() * sizeof(int));
  const Buffer from(device.get(), bytes);
  device->CopyFromHost(from.data(), sent.data(), bytes);
  device->MakeDownload(bytes)->Start(0, from.data(), bytes);
  device->MakeDownload(bytes);  // destroyed without Start
  const std::unique_ptr<Download> kept = device->MakeDownload(bytes);
  kept->Start(0, from.data(), bytes);
  EXPECT_EQ(std::memcmp(kept->Wait(), sent.data(), static_cast<size_t>(bytes)), 0);
}

TEST(CudaDevice, RepeatsWhatItHasRecorded) {
  std::string why;
  const std::unique_ptr<Device> device = FirstGpu(&why);
  if (device == nullptr) GTEST_SKIP() << why;
  std::vector<int> sent(1000, 3), read(1000);
  const int64_t bytes = static_cast<int64_t>(sent.size() * sizeof(int));
  const Buffer from(device.get(), bytes), to(device.get(), bytes);
  device->CopyFromHost(from.data(), sent.data(), bytes);
  const std::unique_ptr<Recording> recording =
      device->Record([&] { CopyOnDevice(device.get(), to.data(), from.data(), bytes); });
  ASSERT_NE(recording, nullptr);
  device->CopyToHost(read.data(), to.data(), bytes);
  EXPECT_EQ(read, std::vector<int>(1000)) << "recording does nothing";
  for (int value : {3, 4}) {
    sent.assign(sent.size(), value);
    device->CopyFromHost(from.data(), sent.data(), bytes);
    recording->Run();
    device->CopyToHost(read.data(), to.data(), bytes);
    EXPECT_EQ(read, sent);
  }
}

TEST(CudaDevice, RecordsWorkOnNothing) {
  std::string why;
  const std::unique_ptr<Device> device = FirstGpu(&why);
  if (device == nullptr) GTEST_SKIP() << why;
  const Buffer memory(device.get(), 100);
  const std::unique_ptr<Recording> recording = device->Record([&] {
    device->Zero(memory.data(), 0);
    device->Zero(memory.data(), 100);
    CopyOnDevice(device.get(), memory.data(), nullptr, 0);
  });
  ASSERT_NE(recording, nullptr);
  recording->Run();
  device->Synchronize();
}

TEST(CudaDevice, GoesOnWhereWorkCannotBeRecorded) {
  std::string why;
  const std::unique_ptr<Device> device = FirstGpu(&why);
  if (device == nullptr) GTEST_SKIP() << why;
  const std::function<void()> synchronise = [&] { device->Synchronize(); };
  // Adds the context that a net adds.
  const std::function<void()> named = [&] {
    try {
      device->Synchronize();
    } catch (const Error& e) {
      RethrowWithContext(e, {}, "layer 'ip'");
    }
  };
  for (const auto& work : {synchronise, named}) {
    EXPECT_EQ(device->Record(work), nullptr);
    EXPECT_THROW(device->Record([] { throw MemoryError("none left"); }), MemoryError);
    const Buffer memory(device.get(), 1000);
    device->Synchronize();
    EXPECT_NE(device->Record([&] { device->Zero(memory.data(), 1000); }), nullptr);
  }
}

}  // namespace
}  // namespace doppio

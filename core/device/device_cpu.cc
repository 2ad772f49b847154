#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/threads.h"
#include "core/device/block_cache.h"
#include "core/device/device.h"
#include "core/device/host_memory.h"

namespace doppio {
namespace {

constexpr int64_t kHugePage = 2 << 20;

// Rounds up to a size class: powers of two up to a huge page, then multiples of a huge page. Large
// arenas are allocated once, so a finer class would gain nothing, and a coarser class would waste
// memory, because Zero touches all of it.
int64_t SizeClass(int64_t bytes) {
  if (bytes > kHugePage) return (bytes + kHugePage - 1) / kHugePage * kHugePage;
  int64_t power = 64;
  while (power < bytes) power *= 2;
  return power;
}

class CpuDevice : public Device {
 public:
  CpuDevice() = default;
  CpuDevice(const DeviceProperties& part, std::string name)
      : Device(part), name_(std::move(name)) {}
  ~CpuDevice() override { blocks_.Clear(&std::free); }

  std::string kind() const override { return DeviceKind::kCpu; }
  std::string name() const override {
    const int threads = properties.threads > 0 ? properties.threads : NumThreads();
    return name_ + " (" + std::to_string(threads) + " threads)";
  }

  void* Allocate(int64_t bytes) override {
    const int64_t size = SizeClass(bytes);
    void* memory = blocks_.Take(size, [&] { return AllocateOnHost(size); });
    Zero(memory, size);
    return memory;
  }

  void Free(void* memory) noexcept override { blocks_.Put(memory); }

  void CopyFromHost(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }
  void CopyToHost(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }

  void CopyFromPeer(Device*, void* to, const void* from, int64_t bytes) override {
    Copy(to, from, bytes);
  }
  void CopyToPeer(Device*, void* to, const void* from, int64_t bytes) override {
    Copy(to, from, bytes);
  }

  void Zero(void* memory, int64_t bytes) override {
    char* p = static_cast<char*>(memory);
    ParallelFor(bytes, 1 << 20,
                [p](int64_t begin, int64_t end) { std::memset(p + begin, 0, end - begin); });
  }

  void Synchronize() override {}
  int64_t bytes_in_use() const override { return blocks_.bytes_in_use(); }
  int64_t peak_bytes() const override { return blocks_.peak_bytes(); }
  int64_t free_bytes() override { return FreeHostBytes(); }

 private:
  void* AllocateOnHost(int64_t size) {
    const int64_t alignment = size >= kHugePage ? kHugePage : 64;
    const int64_t rounded = (size + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded);
    if (memory == nullptr) {
      throw MemoryError("the host cannot allocate ", size >> 20, " MiB; ", bytes_in_use() >> 20,
                        " MiB are in use by this process");
    }
    // Huge pages reduce TLB misses in large arenas. Failure does not matter, because this is only a
    // hint.
    if (size >= kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
  }

  static void Copy(void* to, const void* from, int64_t bytes) {
    char* t = static_cast<char*>(to);
    const char* f = static_cast<const char*>(from);
    ParallelFor(bytes, 1 << 20, [=](int64_t begin, int64_t end) {
      std::memcpy(t + begin, f + begin, end - begin);
    });
  }

  const std::string name_ = "CPU";
  BlockCache blocks_;
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice() { return std::make_unique<CpuDevice>(); }

std::unique_ptr<Device> MakeCpuPart(const CpuShare& share, const std::string& name) {
  DeviceProperties part;
  part.threads = std::max(1, NumThreads() / share.parts);
  part.cpu_share = share;
  return std::make_unique<CpuDevice>(part, name);
}

}  // namespace doppio

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "core/base/threads.h"
#include "core/device/device.h"

namespace doppio {
namespace {

constexpr int64_t kHugePage = 2 << 20;

// Rounds up to a size class: powers of two below a page, then multiples of 1/8 of the power below.
int64_t SizeClass(int64_t bytes) {
  int64_t power = 64;
  while (power < bytes) power *= 2;
  if (power <= 4096) return power;
  const int64_t step = power / 16;
  return (bytes + step - 1) / step * step;
}

class CpuDevice : public Device {
 public:
  ~CpuDevice() override {
    for (auto& block : free_) std::free(block.second);
  }

  DeviceKind kind() const override { return DeviceKind::kCpu; }
  std::string name() const override {
    return "CPU (" + std::to_string(NumThreads()) + " threads)";
  }

  void* Allocate(int64_t bytes) override {
    const int64_t size = SizeClass(bytes);
    void* memory = Take(size);
    Zero(memory, size);
    return memory;
  }

  void Free(void* memory) noexcept override {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = sizes_.find(memory);
    in_use_ -= it->second;
    free_.emplace(it->second, memory);
  }

  void CopyFromHost(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }
  void CopyToHost(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }

  void Zero(void* memory, int64_t bytes) override {
    char* p = static_cast<char*>(memory);
    ParallelFor(bytes, 1 << 20,
                [p](int64_t begin, int64_t end) { std::memset(p + begin, 0, end - begin); });
  }

  void Synchronize() override {}
  int64_t bytes_in_use() const override { return in_use_; }
  int64_t peak_bytes() const override { return peak_; }

 private:
  void* Take(int64_t size) {
    std::lock_guard<std::mutex> lock(mutex_);
    void* memory = nullptr;
    auto it = free_.find(size);
    if (it != free_.end()) {
      memory = it->second;
      free_.erase(it);
    } else {
      const int64_t alignment = size >= kHugePage ? kHugePage : 64;
      const int64_t rounded = (size + alignment - 1) / alignment * alignment;
      memory = std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(rounded));
      if (memory == nullptr) {
        throw MemoryError("the host has no " + std::to_string(size >> 20) + " MiB left; " +
                          std::to_string(in_use_ >> 20) + " MiB are in use by this process");
      }
      // Fewer TLB misses on the big arenas; a hint only, so failure does not matter.
      if (size >= kHugePage) madvise(memory, static_cast<size_t>(rounded), MADV_HUGEPAGE);
      sizes_[memory] = size;
    }
    in_use_ += size;
    if (in_use_ > peak_) peak_ = in_use_.load();
    return memory;
  }

  static void Copy(void* to, const void* from, int64_t bytes) {
    char* t = static_cast<char*>(to);
    const char* f = static_cast<const char*>(from);
    ParallelFor(bytes, 1 << 20, [=](int64_t begin, int64_t end) {
      std::memcpy(t + begin, f + begin, static_cast<size_t>(end - begin));
    });
  }

  std::mutex mutex_;
  std::multimap<int64_t, void*> free_;
  std::map<void*, int64_t> sizes_;
  std::atomic<int64_t> in_use_{0}, peak_{0};
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice() { return std::make_unique<CpuDevice>(); }

}  // namespace doppio

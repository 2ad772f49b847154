#include "tools/nets/reserved_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "core/base/threads.h"

namespace doppio {
namespace {

class ReservedDevice : public Device {
 public:
  ~ReservedDevice() override {
    for (const auto& [memory, bytes] : blocks_) munmap(memory, static_cast<size_t>(bytes));
  }
  std::string kind() const override { return DeviceKind::kCpu; }
  std::string name() const override { return "CPU (" + std::to_string(NumThreads()) + " threads)"; }

  void* Allocate(int64_t bytes) override {
    void* memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      throw MemoryError("the system cannot reserve " + std::to_string(bytes >> 20) +
                        " MiB of address space");
    }
    blocks_[memory] = bytes;
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
    return memory;
  }
  void Free(void* memory) noexcept override {
    auto it = blocks_.find(memory);
    munmap(memory, static_cast<size_t>(it->second));
    in_use_ -= it->second;
    blocks_.erase(it);
  }
  void CopyFromHost(void* to, const void* from, int64_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void CopyToHost(void* to, const void* from, int64_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void Zero(void* memory, int64_t bytes) override { std::memset(memory, 0, bytes); }
  void Synchronize() override {}
  int64_t bytes_in_use() const override { return in_use_; }
  int64_t peak_bytes() const override { return peak_; }

 private:
  std::map<void*, int64_t> blocks_;
  int64_t in_use_ = 0, peak_ = 0;
};

}  // namespace

std::unique_ptr<Device> MakeReservedDevice() { return std::make_unique<ReservedDevice>(); }

}  // namespace doppio

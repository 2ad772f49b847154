// One GPU: its memory, kept by size class, and the stream that it computes on.
#include "core/device/device_cuda.h"

#include <atomic>
#include <map>
#include <mutex>

#include "core/device/gpus_cuda.h"

namespace doppio {
namespace {

constexpr int64_t kPage = 2 << 20;  // what the driver hands out

// Powers of two up to a page, then whole pages: the big arenas come once, so they fit exactly.
int64_t SizeClass(int64_t bytes) {
  if (bytes > kPage) return (bytes + kPage - 1) / kPage * kPage;
  int64_t power = 512;
  while (power < bytes) power *= 2;
  return power;
}

std::string MiB(int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

class CudaDevice : public Device {
 public:
  CudaDevice(int index, const std::string& model)
      : index_(index), name_("GPU " + std::to_string(index) + " (" + model + ")") {
    MakeCurrent();
    Cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream on", name_);
  }

  // Results are not looked at: the runtime may be gone already, and nobody could act on them.
  ~CudaDevice() override {
    cudaSetDevice(index_);
    cudaStreamSynchronize(stream_);
    for (auto& block : free_) cudaFree(block.second);
    cudaStreamDestroy(stream_);
  }

  DeviceKind kind() const override { return DeviceKind::kCuda; }
  std::string name() const override { return name_; }

  void* Allocate(int64_t bytes) override {
    const int64_t size = SizeClass(bytes);
    void* memory = Take(size);
    try {
      Zero(memory, size);
    } catch (...) {
      Free(memory);
      throw;
    }
    return memory;
  }

  // Kernels that still use the block run before those of its next owner: there is one stream.
  void Free(void* memory) noexcept override {
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t size = sizes_.find(memory)->second;
    in_use_ -= size;
    free_.emplace(size, memory);
  }

  void CopyFromHost(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }
  void CopyToHost(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }

  // Complete for all that comes after it on this device and for the copies to the host; nobody
  // waits for it.
  void Zero(void* memory, int64_t bytes) override {
    Cuda(cudaMemsetAsync(memory, 0, static_cast<size_t>(bytes), stream()), "clearing memory of",
         name_);
  }

  void Synchronize() override { Cuda(cudaStreamSynchronize(stream()), "waiting for", name_); }

  int64_t bytes_in_use() const override { return in_use_; }
  int64_t peak_bytes() const override { return peak_; }

  cudaStream_t stream() {
    MakeCurrent();
    return stream_;
  }

 private:
  // The current device belongs to the thread, and any thread may come.
  void MakeCurrent() { Cuda(cudaSetDevice(index_), "choosing", name_); }

  void Copy(void* to, const void* from, int64_t bytes) {
    // The addresses tell the direction.
    Cuda(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, stream()),
         "copying to or from", name_);
    Synchronize();
  }

  void* Take(int64_t size) {
    std::lock_guard<std::mutex> lock(mutex_);
    void* memory = nullptr;
    auto it = free_.find(size);
    if (it != free_.end()) {
      memory = it->second;
      free_.erase(it);
    } else {
      memory = AskDriver(size);
      sizes_[memory] = size;
    }
    in_use_ += size;
    if (in_use_ > peak_) peak_ = in_use_.load();
    return memory;
  }

  void* AskDriver(int64_t size) {
    MakeCurrent();
    void* memory = nullptr;
    cudaError_t result = cudaMalloc(&memory, static_cast<size_t>(size));
    if (result == cudaErrorMemoryAllocation && !free_.empty()) {
      cudaGetLastError();
      GiveBackCache();
      result = cudaMalloc(&memory, static_cast<size_t>(size));
    }
    if (result == cudaErrorMemoryAllocation) ThrowNoMemory(size);
    Cuda(result, "allocating on", name_);
    return memory;
  }

  void GiveBackCache() {
    Cuda(cudaStreamSynchronize(stream_), "waiting for", name_);
    for (auto& block : free_) {
      sizes_.erase(block.second);
      Cuda(cudaFree(block.second), "freeing memory of", name_);
    }
    free_.clear();
  }

  [[noreturn]] void ThrowNoMemory(int64_t size) {
    cudaGetLastError();
    size_t free = 0, total = 0;
    Cuda(cudaMemGetInfo(&free, &total), "asking for the memory of", name_);
    throw MemoryError(
        name_ + " has no " + MiB(size) + " left: " + MiB(static_cast<int64_t>(free)) + " of " +
        MiB(static_cast<int64_t>(total)) + " are free and this process uses " + MiB(in_use_) +
        "; make batch_size smaller and iter_size larger by the same factor, or end other "
        "programs on this GPU");
  }

  const int index_;
  const std::string name_;
  cudaStream_t stream_ = nullptr;
  std::mutex mutex_;
  std::multimap<int64_t, void*> free_;
  std::map<void*, int64_t> sizes_;
  std::atomic<int64_t> in_use_{0}, peak_{0};
};

std::unique_ptr<Device> MakeCudaDevice(int index) {
  return std::make_unique<CudaDevice>(index, UsableGpu(index).name);
}

DOPPIO_REGISTER(DeviceBackends, Name(DeviceKind::kCuda), DeviceBackend{&ListGpus, &MakeCudaDevice});

}  // namespace

cudaStream_t CudaStream(Device* device) {
  DOPPIO_CHECK(device->kind() == DeviceKind::kCuda, device->name());
  return static_cast<CudaDevice*>(device)->stream();
}

}  // namespace doppio

// Implements Device for one GPU: memory cached by size class, and one stream for all computing.
#include "core/device/device_cuda.h"

#include "core/device/block_cache.h"
#include "core/device/gpus_cuda.h"

namespace doppio {
namespace {

constexpr int64_t kPage = 2 << 20;  // the granularity of the driver's allocations

// Rounds up to a size class: powers of two up to a page, then multiples of a page. Large arenas are
// allocated once, so they fit closely.
int64_t GpuSizeClass(int64_t bytes) {
  if (bytes > kPage) return (bytes + kPage - 1) / kPage * kPage;
  int64_t power = 512;
  while (power < bytes) power *= 2;
  return power;
}

std::string MiB(int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

[[noreturn]] void ThrowNoMemory(const std::string& gpu, int64_t size, int64_t in_use) {
  cudaGetLastError();
  size_t free = 0, total = 0;
  Cuda(cudaMemGetInfo(&free, &total), "asking for the memory of", gpu);
  throw MemoryError(gpu, " cannot allocate ", MiB(size), ": ", MiB(free), " of ", MiB(total),
                    " are free and this process uses ", MiB(in_use),
                    "; reduce batch_size and increase iter_size by the same factor, or end other "
                    "programs on this GPU");
}

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

// Returns null if the work could not be captured.
Graph EndCapture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  const bool ended = cudaStreamEndCapture(stream, &graph) == cudaSuccess;
  cudaGetLastError();
  return Graph(ended ? graph : nullptr);
}

class CudaRecording : public Recording {
 public:
  CudaRecording(GpuDevice* device, cudaGraphExec_t ready) : device_(device), ready_(ready) {}
  ~CudaRecording() override { cudaGraphExecDestroy(ready_); }
  void Run() override {
    Cuda(cudaGraphLaunch(ready_, device_->gpu().stream), "the launch of a graph on",
         device_->name());
  }

 private:
  GpuDevice* const device_;
  const cudaGraphExec_t ready_;
};

class CudaDownload : public Download {
 public:
  CudaDownload(GpuDevice* device, int64_t bytes)
      : device_(device), memory_(device, bytes), arrived_(device) {}
  // Waits because the device may still write to the memory. After an error it no longer writes, and
  // a destructor cannot report the error.
  ~CudaDownload() override {
    try {
      arrived_.Wait();
    } catch (const DeviceError&) {
    }
  }
  void Start(int64_t offset, const void* from, int64_t bytes) override {
    Cuda(cudaMemcpyAsync(static_cast<char*>(memory_.data()) + offset, from, bytes,
                         cudaMemcpyDeviceToHost, device_->gpu().stream),
         "copying from", device_->name());
    arrived_.Record();
  }
  const char* Wait() override {
    arrived_.Wait();
    return static_cast<const char*>(memory_.data());
  }

 private:
  GpuDevice* const device_;
  PinnedBuffer memory_;
  Fence arrived_;
};

class CudaDevice : public GpuDevice {
 public:
  CudaDevice(int index, const DeviceInfo& info)
      : GpuDevice(info.pci_bus_id),
        index_(index),
        name_("GPU " + std::to_string(index) + " (" + info.name + ")") {
    stream_ = NewStream(this);
  }

  // Errors are ignored: the CUDA runtime may already be unloaded, and a destructor cannot report
  // them.
  ~CudaDevice() override {
    cudaSetDevice(index_);
    attached().Clear();
    cudaStreamSynchronize(stream_);
    blocks_.Clear([](void* memory) { cudaFree(memory); });
    cudaStreamDestroy(stream_);
  }

  std::string name() const override { return name_; }

  void* Allocate(int64_t bytes) override {
    const int64_t size = GpuSizeClass(bytes);
    void* memory = blocks_.Take(size, [&] { return AllocateOnGpu(size); });
    try {
      Zero(memory, size);
    } catch (...) {
      Free(memory);
      throw;
    }
    return memory;
  }

  // There is only one stream, so kernels that still use the block run before those of its next
  // owner.
  void Free(void* memory) noexcept override { blocks_.Put(memory); }

  void CopyFromHost(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }
  void CopyToHost(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }

  void CopyFromPeer(Device*, void* to, const void* from, int64_t bytes) override {
    CopyPeer(to, from, bytes);
  }
  void CopyToPeer(Device*, void* to, const void* from, int64_t bytes) override {
    CopyPeer(to, from, bytes);
  }

  // Returns immediately. All later work on this device, including copies to the host, sees the
  // zeros.
  void Zero(void* memory, int64_t bytes) override {
    if (bytes == 0) return;  // an empty operation cannot be recorded
    Cuda(cudaMemsetAsync(memory, 0, bytes, gpu().stream), "clearing memory of", name_);
  }

  void Synchronize() override { Cuda(cudaStreamSynchronize(gpu().stream), "waiting for", name_); }

  std::unique_ptr<Download> MakeDownload(int64_t bytes) override {
    return std::make_unique<CudaDownload>(this, bytes);
  }

  std::unique_ptr<Recording> Record(const std::function<void()>& work) override {
    // In this mode, other threads may allocate pinned memory during the recording.
    Cuda(cudaStreamBeginCapture(gpu().stream, cudaStreamCaptureModeThreadLocal), "recording on",
         name_);
    try {
      work();
    } catch (const Error& e) {
      EndCapture(stream_);
      // A library attempted something that cannot be recorded and reported an error. The error code
      // identifies this case; the exception's type does not, because adding the layer's name
      // converts it to a plain Error.
      if (e.code() != ExitCode::kDevice) throw;
      return nullptr;
    } catch (...) {
      EndCapture(stream_);
      throw;
    }
    const Graph graph = EndCapture(stream_);
    cudaGraphExec_t ready = nullptr;
    if (graph == nullptr) return nullptr;
    if (cudaGraphInstantiate(&ready, graph.get(), 0) != cudaSuccess) {
      cudaGetLastError();  // otherwise the next call would report the error
      return nullptr;
    }
    return std::make_unique<CudaRecording>(this, ready);
  }

  int64_t bytes_in_use() const override { return blocks_.bytes_in_use(); }
  int64_t peak_bytes() const override { return blocks_.peak_bytes(); }

  // The cached blocks count as free, because Allocate returns them to the driver when memory runs
  // out.
  int64_t free_bytes() override {
    gpu();  // makes the device current
    size_t free = 0, total = 0;
    Cuda(cudaMemGetInfo(&free, &total), "asking for the memory of", name_);
    return static_cast<int64_t>(free) + blocks_.cached_bytes();
  }

  // CUDA's current device is a property of the thread, and any thread may call these functions.
  Gpu gpu() override {
    Cuda(cudaSetDevice(index_), "choosing", name_);
    return {stream_};
  }

 private:
  void Copy(void* to, const void* from, int64_t bytes) {
    CopyPeer(to, from, bytes);
    Synchronize();
  }

  void CopyPeer(void* to, const void* from, int64_t bytes) {
    // With cudaMemcpyDefault, CUDA derives the direction and the devices from the addresses.
    Cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, gpu().stream), "copying to or from",
         name_);
  }

  void* AllocateOnGpu(int64_t size) {
    gpu();  // makes the device current
    void* memory = nullptr;
    cudaError_t result = cudaMalloc(&memory, size);
    if (result == cudaErrorMemoryAllocation) {
      // Returns the cached blocks to the driver, and tries again.
      Cuda(cudaStreamSynchronize(stream_), "waiting for", name_);
      const auto free = [&](void* block) { Cuda(cudaFree(block), "freeing memory of", name_); };
      if (blocks_.Clear(free)) {
        cudaGetLastError();
        result = cudaMalloc(&memory, size);
      }
    }
    if (result == cudaErrorMemoryAllocation) ThrowNoMemory(name_, size, bytes_in_use());
    Cuda(result, "allocating on", name_);
    return memory;
  }

  const int index_;
  const std::string name_;
  cudaStream_t stream_ = nullptr;
  BlockCache blocks_;
};

std::unique_ptr<Device> MakeCudaDevice(int index) {
  return std::make_unique<CudaDevice>(index, UsableGpu(index));
}

// CUDA reads the variable, which the user may have set, when it is initialised. By default, it
// loads a kernel at its first launch, and loading waits for the GPU. That GPU may wait for the
// all-reduce kernel of another GPU, whose launch the loading blocks. A process with one GPU keeps
// the default, because loading all kernels of cuDNN and NCCL takes time and memory.
void LoadKernelsAtOnce() { setenv("CUDA_MODULE_LOADING", "EAGER", 0); }

DOPPIO_REGISTER(DeviceBackends, kCudaKind,
                DeviceBackend{&ListGpus, &MakeCudaDevice, &LoadKernelsAtOnce});

}  // namespace

void CopyOnDevice(Device* device, void* to, const void* from, int64_t bytes) {
  const Gpu gpu = GpuOf(device);
  if (bytes == 0) return;  // an empty operation cannot be recorded
  Cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, gpu.stream), "copying within",
       device->name());
}

void CopyToDeviceAsync(Device* device, void* to, const void* from, int64_t bytes) {
  Cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, GpuOf(device).stream), "copying to",
       device->name());
}

cudaEvent_t NewEvent(Device* device, unsigned flags) {
  GpuOf(device);  // makes the device current
  cudaEvent_t event = nullptr;
  Cuda(cudaEventCreateWithFlags(&event, flags), "making an event on", device->name());
  return event;
}

cudaStream_t NewStream(Device* device) {
  GpuOf(device);  // makes the device current
  cudaStream_t stream = nullptr;
  Cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream on",
       device->name());
  return stream;
}

PinnedBuffer::PinnedBuffer(Device* device, int64_t bytes) {
  GpuOf(device);  // makes the device current
  const size_t size = std::max<int64_t>(1, bytes);
  Cuda(cudaHostAlloc(&data_, size, cudaHostAllocPortable), "allocating pinned host memory for",
       device->name());
}

PinnedBuffer::~PinnedBuffer() { cudaFreeHost(data_); }

Fence::Fence(Device* device) : device_(device), event_(NewEvent(device)) {}

Fence::~Fence() { cudaEventDestroy(event_); }

void Fence::Record() {
  Cuda(cudaEventRecord(event_, GpuOf(device_).stream), "recording an event on", device_->name());
}

void Fence::Wait() { Cuda(cudaEventSynchronize(event_), "waiting for", device_->name()); }

}  // namespace doppio

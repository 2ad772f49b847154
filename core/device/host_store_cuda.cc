// Copies blocks between GPU memory and pinned host memory. Each direction has its own stream, so
// both directions overlap with computing. The streams synchronise by events, and the host never
// waits.
#include "core/device/host_store.h"

#include "core/device/device_cuda.h"

namespace doppio {
namespace {

constexpr int64_t kAlignment = 512;

class CudaStore : public HostStore {
 public:
  CudaStore(Device* device, const std::vector<StoredBlock>& blocks)
      : device_(device), room_(device, Sizes(blocks)) {
    char* place = static_cast<char*>(room_.data());
    try {
      out_ = NewStream(device);
      in_ = NewStream(device);
      reached_ = NewEvent(device);
      for (const StoredBlock& block : blocks) {
        slots_.push_back({block, place, nullptr});
        slots_.back().copied = NewEvent(device);
        place += Aligned(block.bytes);
      }
    } catch (...) {
      End();
      throw;
    }
  }
  ~CudaStore() override { End(); }
  CudaStore(const CudaStore&) = delete;
  CudaStore& operator=(const CudaStore&) = delete;

  void Save(int block) override {
    const Slot& slot = slots_[block];
    WaitForCompute(out_);
    Copy(slot.place, slot.block.memory, slot, cudaMemcpyDeviceToHost, out_);
  }
  void Saved(int block) override { ComputeWaits(block); }

  void Fetch(int block) override {
    const Slot& slot = slots_[block];
    WaitForCompute(in_);
    Wait(in_, slot.copied);
    Copy(slot.block.memory, slot.place, slot, cudaMemcpyHostToDevice, in_);
  }
  void Fetched(int block) override { ComputeWaits(block); }

 private:
  struct Slot {
    StoredBlock block;
    char* place;
    cudaEvent_t copied;  // recorded after the last copy in either direction
  };

  static int64_t Aligned(int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  static int64_t Sizes(const std::vector<StoredBlock>& blocks) {
    int64_t bytes = 0;
    for (const StoredBlock& block : blocks) bytes += Aligned(block.bytes);
    return bytes;
  }

  void Wait(cudaStream_t stream, cudaEvent_t event) {
    Cuda(cudaStreamWaitEvent(stream, event, 0), "ordering the streams of", device_->name());
  }

  // cudaStreamWaitEvent waits for the event's state at the time of the call, so one event can be
  // recorded again for each wait.
  void WaitForCompute(cudaStream_t stream) {
    Cuda(cudaEventRecord(reached_, GpuOf(device_).stream), "recording an event on",
         device_->name());
    Wait(stream, reached_);
  }
  void ComputeWaits(int block) { Wait(GpuOf(device_).stream, slots_[block].copied); }

  void Copy(void* to, const void* from, const Slot& slot, cudaMemcpyKind way, cudaStream_t stream) {
    Cuda(cudaMemcpyAsync(to, from, slot.block.bytes, way, stream), "copying to or from",
         device_->name());
    Cuda(cudaEventRecord(slot.copied, stream), "recording an event on", device_->name());
  }

  // Errors are ignored: the CUDA runtime may already be unloaded, and a destructor cannot report
  // them.
  void End() {
    for (cudaStream_t stream : {out_, in_}) {
      if (stream == nullptr) continue;
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    }
    for (const Slot& slot : slots_) {
      if (slot.copied != nullptr) cudaEventDestroy(slot.copied);
    }
    if (reached_ != nullptr) cudaEventDestroy(reached_);
  }

  Device* const device_;
  PinnedBuffer room_;
  cudaStream_t out_ = nullptr, in_ = nullptr;
  cudaEvent_t reached_ = nullptr;  // the current position of the compute stream
  std::vector<Slot> slots_;
};

std::unique_ptr<HostStore> MakeCudaStore(Device* device, const std::vector<StoredBlock>& blocks) {
  return std::make_unique<CudaStore>(device, blocks);
}

DOPPIO_REGISTER(HostStoreMakers, kCudaKind, &MakeCudaStore);

}  // namespace
}  // namespace doppio

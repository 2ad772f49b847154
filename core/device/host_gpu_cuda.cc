// CUDA code without a GPU.
#include <cstring>

#include "core/device/device_cuda.h"

namespace doppio {
namespace {

// The host takes nothing down: it does the work each time, which shows whether it may be done
// again.
class HostRecording : public Recording {
 public:
  explicit HostRecording(const std::function<void()>& work) : work_(work) {}
  void Run() override { work_(); }

 private:
  const std::function<void()> work_;
};

class HostGpu : public GpuDevice {
 public:
  ~HostGpu() override { DropAttached(); }
  std::string name() const override { return "GPU (the host in its place)"; }
  Gpu gpu() override { return {nullptr, true}; }

  void* Allocate(int64_t bytes) override { return memory_->Allocate(bytes); }
  void Free(void* memory) noexcept override { memory_->Free(memory); }
  void CopyFromHost(void* to, const void* from, int64_t bytes) override {
    memory_->CopyFromHost(to, from, bytes);
  }
  void CopyToHost(void* to, const void* from, int64_t bytes) override {
    memory_->CopyToHost(to, from, bytes);
  }
  void Zero(void* memory, int64_t bytes) override { memory_->Zero(memory, bytes); }
  void Synchronize() override {}
  std::unique_ptr<Recording> Record(const std::function<void()>& work) override {
    return std::make_unique<HostRecording>(work);
  }
  int64_t bytes_in_use() const override { return memory_->bytes_in_use(); }
  int64_t peak_bytes() const override { return memory_->peak_bytes(); }
  int64_t free_bytes() override { return memory_->free_bytes(); }

 private:
  const std::unique_ptr<Device> memory_ = MakeCpuDevice();
};

std::unique_ptr<Device> MakeHostGpu() { return std::make_unique<HostGpu>(); }

DOPPIO_REGISTER(StandInDevices, Name(DeviceKind::kCuda), &MakeHostGpu);

}  // namespace

}  // namespace doppio

// Measures time in a GPU's stream with CUDA events: the driver reports the time from a start event
// to each mark.
#include <cmath>

#include "core/base/clock.h"
#include "core/device/device_clock.h"
#include "core/device/device_cuda.h"

namespace doppio {
namespace {

class CudaClock : public DeviceClock {
 public:
  explicit CudaClock(Device* device)
      : device_(device), start_(NewEvent(device, cudaEventDefault)) {}
  // Errors are ignored, as in the device's own destructor.
  ~CudaClock() override {
    cudaEventDestroy(start_);
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  CudaClock(const CudaClock&) = delete;
  CudaClock& operator=(const CudaClock&) = delete;

  // The start event happens between the two readings of the host's clock, so the error is at most
  // half their distance: a few microseconds.
  void Start() override {
    used_ = 0;
    device_->Synchronize();
    const int64_t before = MonotonicNs();
    Record(start_);
    device_->Synchronize();
    start_ns_ = before + (MonotonicNs() - before) / 2;
  }

  int Mark() override {
    if (used_ == events_.size()) events_.push_back(NewEvent(device_, cudaEventDefault));
    Record(events_[used_]);
    return static_cast<int>(used_++);
  }

  std::vector<int64_t> Read() override {
    device_->Synchronize();
    std::vector<int64_t> moments(used_);
    for (size_t i = 0; i < used_; ++i) {
      float ms = 0;
      Cuda(cudaEventElapsedTime(&ms, start_, events_[i]), "asking for the time between events of",
           device_->name());
      moments[i] = start_ns_ + std::llround(1e6 * static_cast<double>(ms));
    }
    used_ = 0;
    return moments;
  }

 private:
  void Record(cudaEvent_t event) const {
    Cuda(cudaEventRecord(event, GpuOf(device_).stream), "recording an event on", device_->name());
  }

  Device* const device_;
  cudaEvent_t start_;
  int64_t start_ns_ = 0;
  std::vector<cudaEvent_t> events_;  // reused after each Read
  size_t used_ = 0;
};

std::unique_ptr<DeviceClock> Make(Device* device) { return std::make_unique<CudaClock>(device); }

DOPPIO_REGISTER(DeviceClocks, kCudaKind, &Make);

}  // namespace
}  // namespace doppio

#include "core/math/cudnn_timer.h"

#include <algorithm>
#include <utility>

#include "core/device/device_cuda.h"

namespace doppio {
namespace {

constexpr int kWarmUps = 2, kRuns = 5;

}  // namespace

// Allocated directly and not with Device::Allocate, which would cache the memory and count it.
class CudnnTimer::Block {
 public:
  explicit Block(int64_t bytes) {
    Cuda(cudaMalloc(&data_, std::max<int64_t>(1, bytes)), "taking memory to measure in");
  }
  ~Block() { cudaFree(data_); }
  Block(Block&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

class CudnnTimer::Event {
 public:
  Event() { Cuda(cudaEventCreate(&event_), "making an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void Record(cudaStream_t stream) { Cuda(cudaEventRecord(event_, stream), "recording an event"); }
  float MsSince(const Event& start) const {
    Cuda(cudaEventSynchronize(event_), "waiting for an event");
    float ms = 0;
    Cuda(cudaEventElapsedTime(&ms, start.event_, event_), "taking a time");
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

CudnnTimer::CudnnTimer(Device* device, const std::vector<Memory>& memory, int64_t workspace_bytes)
    : device_(device) {
  const cudaStream_t stream = GpuOf(device).stream;
  for (const Memory& tensor : memory) {
    blocks_.emplace_back(tensor.bytes);
    void* const data = blocks_.back().data();
    Cuda(cudaMemsetAsync(data, 0, tensor.bytes, stream), "clearing memory");
    places_.push_back({tensor.role, data});
  }
  blocks_.emplace_back(workspace_bytes);
  start_ = std::make_unique<Event>();
  end_ = std::make_unique<Event>();
}

// cudaFree waits until enqueued work has finished.
CudnnTimer::~CudnnTimer() = default;

void* CudnnTimer::workspace() const { return blocks_.back().data(); }

void* CudnnTimer::at(CudnnRole role) const {
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].role == role) return blocks_[i].data();
  }
  return nullptr;
}

float CudnnTimer::Ms(const std::function<void()>& run) {
  const cudaStream_t stream = GpuOf(device_).stream;
  for (int i = 0; i < kWarmUps + kRuns; ++i) {
    if (i == kWarmUps) start_->Record(stream);
    run();
  }
  end_->Record(stream);
  return end_->MsSince(*start_);
}

}  // namespace doppio

#include "parallel/gpu/side_stream_cuda.h"

namespace doppio {

SideStream::SideStream(Device* device)
    : device_(device),
      stream_(NewStream(device)),
      reached_(NewEvent(device)),
      led_(NewEvent(device)) {}

SideStream::~SideStream() {
  cudaStreamSynchronize(stream_);
  for (const auto& [point, event] : marks_) cudaEventDestroy(event);
  cudaEventDestroy(reached_);
  cudaEventDestroy(led_);
  cudaStreamDestroy(stream_);
}

Gpu SideStream::gpu() const {
  GpuOf(device_);  // makes the device current
  return {stream_};
}

void SideStream::Mark(int64_t point) {
  const Gpu computing = GpuOf(device_);
  std::lock_guard<std::mutex> lock(mutex_);
  cudaEvent_t& event = marks_[point];
  if (event == nullptr) event = NewEvent(device_);
  Cuda(cudaEventRecord(event, computing.stream), "recording an event on", device_->name());
}

void SideStream::FollowMark(int64_t point) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto mark = marks_.find(point);
  if (mark == marks_.end()) return;
  Cuda(cudaStreamWaitEvent(gpu().stream, mark->second, 0), "waiting for an event on",
       device_->name());
}

void SideStream::Follow(SideStream* other) {
  if (other == this) return;
  Cuda(cudaEventRecord(other->reached_, other->gpu().stream), "recording an event on",
       other->device_->name());
  // The wait captures the event's current state, so the next Follow may reuse the event.
  Cuda(cudaStreamWaitEvent(gpu().stream, other->reached_, 0), "waiting for an event on",
       device_->name());
}

void SideStream::ComputeAfterExchange() {
  const Gpu computing = GpuOf(device_);
  Cuda(cudaEventRecord(led_, stream_), "recording an event on", device_->name());
  Cuda(cudaStreamWaitEvent(computing.stream, led_, 0), "waiting for an event on", device_->name());
}

void SideStream::Copy(void* to, const void* from, int64_t bytes) {
  const Gpu own = gpu();
  // cudaMemcpyDefault derives the direction from the addresses.
  Cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, own.stream), "copying to or from",
       device_->name());
}

bool SideStream::Idle() const {
  const cudaError_t state = cudaStreamQuery(gpu().stream);
  if (state == cudaErrorNotReady) {
    cudaGetLastError();  // clears the error state, which the check of the next launch would find
    return false;
  }
  Cuda(state, "an exchange between ranks on", device_->name());
  return true;
}

}  // namespace doppio

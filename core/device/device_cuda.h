// What the .cu and _cuda.cc files share: the check of CUDA's results, the stream of a device, and
// the shape of a launch. Light enough for nvcc: no protobuf, no glog.
#ifndef DOPPIO_CORE_DEVICE_DEVICE_CUDA_H_
#define DOPPIO_CORE_DEVICE_DEVICE_CUDA_H_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/device/device.h"

namespace doppio {

// Cuda(cudaStreamSynchronize(stream), "waiting for", name): throws DeviceError unless the result is
// success.
inline void Cuda(cudaError_t result, const char* doing, const std::string& what = std::string()) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // the next call must not report it again
  throw DeviceError("CUDA failed at " + std::string(doing) + (what.empty() ? "" : " ") + what +
                    ": " + cudaGetErrorString(result) + " (" + cudaGetErrorName(result) + ")");
}

// Where work for a GPU is enqueued.
struct Gpu {
  cudaStream_t stream = nullptr;
};
class GpuDevice : public Device {
 public:
  DeviceKind kind() const final { return DeviceKind::kCuda; }
  // Makes the device the calling thread's current one, as launches need.
  virtual Gpu gpu() = 0;
};
inline Gpu GpuOf(Device* device) {
  DOPPIO_CHECK(device->kind() == DeviceKind::kCuda, device->name());
  return static_cast<GpuDevice*>(device)->gpu();
}

// Within the device, in the order of its stream.
void CopyOnDevice(Device* device, void* to, const void* from, int64_t bytes);

// From pinned memory, in the order of the device's stream; the caller goes on at once.
void CopyToDeviceAsync(Device* device, void* to, const void* from, int64_t bytes);

// Host memory that a device reads and writes by itself, at full speed.
class PinnedBuffer {
 public:
  PinnedBuffer(Device* device, int64_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// A point in a device's stream that the host can wait for.
class Fence {
 public:
  explicit Fence(Device* device);
  ~Fence();
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  void Record();
  // Until the device has passed the last Record; at once before the first.
  void Wait();

 private:
  Device* device_;
  cudaEvent_t event_ = nullptr;
};

// The one stream that a device computes on, and from this call on the device is the calling
// thread's current one, as launches need. `device` is of kind kCuda. Everything the Device does to
// memory is in the order of this stream; other streams wait for it by an event.
cudaStream_t CudaStream(Device* device);

// The compute capabilities that this program has kernels for, as 100 major + 10 minor, ascending;
// the last one can be translated for newer devices as well.
const std::vector<int>& CompiledArchs();

constexpr int kThreadsPerBlock = 256;

constexpr int kPackBytes =
    16;  // what one instruction of a thread can move, from addresses that are multiples of it
// Whether packs may begin at all of these addresses.
template <class... T>
bool PacksFit(const T*... p) {
  return ((reinterpret_cast<uintptr_t>(p) % kPackBytes == 0) && ...);
}

// Blocks of a grid-stride kernel over `items`: enough to fill any device several times.
inline unsigned BlocksFor(int64_t items) {
  constexpr int64_t kMost = 8192;
  return static_cast<unsigned>(
      std::clamp<int64_t>((items + kThreadsPerBlock - 1) / kThreadsPerBlock, 1, kMost));
}

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_DEVICE_CUDA_H_

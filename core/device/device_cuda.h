// Shared by all .cu and _cuda.cc files: error checks, streams, pinned memory and launch sizes.
// Keeps compilation by nvcc fast: includes neither protobuf nor glog.
#ifndef DOPPIO_CORE_DEVICE_DEVICE_CUDA_H_
#define DOPPIO_CORE_DEVICE_DEVICE_CUDA_H_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/device/device.h"
#include "core/device/kind_cuda.h"

namespace doppio {

// Throws DeviceError unless `result` is cudaSuccess. Usage: Cuda(cudaStreamSynchronize(stream),
// "waiting for", name).
inline void Cuda(cudaError_t result, const char* doing, const std::string& what = std::string()) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // otherwise the next call would report the error again
  throw DeviceError("CUDA failed at ", doing, what.empty() ? "" : " ", what, ": ",
                    cudaGetErrorString(result), " (", cudaGetErrorName(result), ")");
}

// The only stream on which a GPU computes. All memory operations of the Device run in its order;
// other streams must synchronise with it by events.
struct Gpu {
  cudaStream_t stream = nullptr;
};
class GpuDevice : public Device {
 public:
  explicit GpuDevice(const std::string& bus_id = "")
      : Device({/*host_memory=*/false, /*asynchronous=*/true, /*listed=*/true, "cuDNN", bus_id}) {}
  std::string kind() const final { return kCudaKind; }
  // Returns the device's stream and makes the device the calling thread's current device, as kernel
  // launches require.
  virtual Gpu gpu() = 0;
};
// Returns GpuDevice::gpu() of `device`, whose kind must be kCudaKind.
inline Gpu GpuOf(Device* device) {
  DOPPIO_CHECK(device->kind() == kCudaKind, device->name());
  return static_cast<GpuDevice*>(device)->gpu();
}

// Copies within the device, in stream order. Returns immediately.
void CopyOnDevice(Device* device, void* to, const void* from, int64_t bytes);

// Copies from pinned host memory to the device, in stream order. Returns immediately, so `from`
// must stay unchanged until the copy is complete.
void CopyToDeviceAsync(Device* device, void* to, const void* from, int64_t bytes);

// Make an event, by default without a time, or a stream beside the device's own. They also make the
// device the calling thread's current device. The caller destroys the result.
cudaEvent_t NewEvent(Device* device, unsigned flags = cudaEventDisableTiming);
cudaStream_t NewStream(Device* device);

// Pinned host memory, which the device can access directly and at full speed.
class PinnedBuffer {
 public:
  // Allocates `bytes` bytes. Throws DeviceError.
  PinnedBuffer(Device* device, int64_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// A point in a device's stream for which the host can wait. `device` must outlive the Fence.
class Fence {
 public:
  explicit Fence(Device* device);
  ~Fence();
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  // Sets the fence behind all work that the device was given so far.
  void Record();
  // Blocks until the device has passed the last Record. Returns immediately if there was none.
  void Wait();

 private:
  Device* device_;
  cudaEvent_t event_ = nullptr;
};

// Returns the compute capabilities that this program contains kernels for, as 100 * major + 10 *
// minor, in ascending order. The driver can also translate the kernels of the last one for newer
// devices.
const std::vector<int>& CompiledArchs();

constexpr int kThreadsPerBlock = 256;

// Bytes that one load or store of a thread can move. Addresses must be multiples of it.
constexpr int kPackBytes = 16;
// Returns true if all addresses are multiples of kPackBytes.
template <class... T>
bool PacksAligned(const T*... p) {
  return ((reinterpret_cast<uintptr_t>(p) % kPackBytes == 0) && ...);
}

// Returns the number of blocks for a grid-stride kernel over `items`. The upper limit of 8192
// blocks fills any device several times.
inline unsigned BlocksFor(int64_t items) {
  constexpr int64_t kMax = 8192;
  return static_cast<unsigned>(
      std::clamp<int64_t>((items + kThreadsPerBlock - 1) / kThreadsPerBlock, 1, kMax));
}

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_DEVICE_CUDA_H_

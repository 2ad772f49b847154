// A second stream of a GPU, for exchanges that run while the device computes on its main stream.
#ifndef DOPPIO_PARALLEL_GPU_SIDE_STREAM_CUDA_H_
#define DOPPIO_PARALLEL_GPU_SIDE_STREAM_CUDA_H_

#include <sched.h>
#include <time.h>

#include <cstdint>
#include <map>
#include <mutex>

#include "core/device/device_cuda.h"

namespace doppio {

class SideStream {
 public:
  // `device` must be of kind kCudaKind and must outlive the stream.
  explicit SideStream(Device* device);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  Device* device() const { return device_; }
  // Returns the handle for launches on this stream, and makes the device current on the calling
  // thread.
  Gpu gpu() const;

  // Records an event after the work issued to the device's compute stream so far, under the number
  // `point`. Any thread may call it, concurrently with all other calls.
  void Mark(int64_t point);
  // Orders later work of this stream after the last Mark of `point`. Does nothing if there is none.
  void FollowMark(int64_t point);
  // Orders later work of this stream after all work issued to `other` so far.
  void Follow(SideStream* other);

  // Orders later work of the device's compute stream after all work issued to this stream so far.
  void ComputeAfterExchange();

  // Issues a copy of `bytes` bytes. Both addresses may be in the device's memory, in pinned host
  // memory or in memory of GPUs that the device can access.
  void Copy(void* to, const void* from, int64_t bytes);

  // Returns true if all issued work is complete. Throws DeviceError if it failed.
  bool Idle() const;
  // Blocks until Idle(), without occupying a core. Calls `check` from time to time, which may
  // throw.
  template <class F>
  void Wait(const F& check) const {
    constexpr int kOften = 100;
    for (int asked = 0; !Idle(); ++asked) {
      check();
      if (asked < kOften) {
        sched_yield();
      } else {
        const timespec pause = {0, 20'000};
        nanosleep(&pause, nullptr);
      }
    }
  }
  void Wait() const {
    Wait([] {});
  }

 private:
  Device* const device_;
  const cudaStream_t stream_;
  const cudaEvent_t reached_;  // event of Follow
  const cudaEvent_t led_;      // event of ComputeAfterExchange
  std::mutex mutex_;
  std::map<int64_t, cudaEvent_t> marks_;  // guarded by mutex_
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_SIDE_STREAM_CUDA_H_

// A stream of a GPU beside the one that it computes on, for exchanges that go on while it computes.
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
  // `device`, of kind kCuda, outlives it.
  explicit SideStream(Device* device);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  Device* device() const { return device_; }
  // For launches on this stream; makes the device the calling thread's current one.
  Gpu gpu() const;

  // Keeps what the device has been asked to compute so far under a number. Any thread, beside all
  // other calls.
  void Mark(int64_t point);
  // What this stream is asked from now on comes after the last Mark of `point`; there need not be
  // one.
  void FollowMark(int64_t point);
  // What this stream is asked from now on comes after what `other` has been asked so far.
  void Follow(SideStream* other);

  // What the device is asked to compute from now on comes after what this stream has been asked so
  // far.
  void Lead();

  // Between any two of the device's memory, pinned host memory and memory of GPUs that the device
  // reaches.
  void Copy(void* to, const void* from, int64_t bytes);

  // Whether everything asked is done. Throws DeviceError where it failed.
  bool Idle() const;
  // Until Idle(), without keeping a core busy. `check` is called now and then, and may throw.
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
  cudaEvent_t NewEvent() const;

  Device* const device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t reached_ = nullptr;  // for Follow
  cudaEvent_t led_ = nullptr;      // for Lead
  std::mutex mutex_;
  std::map<int64_t, cudaEvent_t> marks_;  // guarded
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_SIDE_STREAM_CUDA_H_

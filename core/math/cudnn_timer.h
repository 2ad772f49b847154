// Times work on a GPU in separately allocated memory, to choose between implementations of the same
// computation. Only *_cuda.cc files include this header.
#ifndef DOPPIO_CORE_MATH_CUDNN_TIMER_H_
#define DOPPIO_CORE_MATH_CUDNN_TIMER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/math/cudnn_plan.h"

namespace doppio {

class CudnnTimer {
 public:
  // The role and the size of a tensor.
  struct Memory {
    CudnnRole role;
    int64_t bytes;
  };

  // Allocates zeroed memory for each element of `memory`, and a workspace. Throws DeviceError if
  // the device has not enough memory. `device` must outlive the timer.
  CudnnTimer(Device* device, const std::vector<Memory>& memory, int64_t workspace_bytes);
  ~CudnnTimer();

  const std::vector<CudnnPlan::Place>& places() const { return places_; }
  void* workspace() const;
  // Returns the address of the memory for `role`, or null if there is none.
  void* at(CudnnRole role) const;

  // Returns the total time in ms of 5 calls of `run`, after 2 calls to warm up. `run` enqueues work
  // on the device's stream. Throws what `run` throws.
  float Ms(const std::function<void()>& run);

 private:
  class Block;
  class Event;

  Device* const device_;
  std::vector<Block> blocks_;  // one per element of `memory`, then the workspace
  std::vector<CudnnPlan::Place> places_;
  std::unique_ptr<Event> start_, end_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_TIMER_H_

// Times work on a GPU, in memory of its own, to choose between ways to compute the same. Only
// *_cuda.cc files include this.
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
  struct Memory {
    CudnnRole role;
    int64_t bytes;
  };

  // Zeros for each of `memory`, and a workspace. Throws DeviceError when there is no such memory
  // left. The device outlives the timer.
  CudnnTimer(Device* device, const std::vector<Memory>& memory, int64_t workspace_bytes);
  ~CudnnTimer();

  const std::vector<CudnnPlan::Place>& places() const { return places_; }
  void* workspace() const;
  // The address of this role's memory; null where it has none.
  void* at(CudnnRole role) const;

  // ms of some calls of `run`, which enqueues on the device's stream, after calls that warm up.
  // Throws what `run` throws.
  float Ms(const std::function<void()>& run);

 private:
  class Block;
  class Event;

  Device* const device_;
  std::vector<Block> blocks_;  // the last one is the workspace
  std::vector<CudnnPlan::Place> places_;
  std::unique_ptr<Event> start_, end_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_TIMER_H_

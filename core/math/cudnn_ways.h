// Chooses between ways to compute the same with cuDNN, e.g. one graph with everything, or one with
// less and a pass of our own after it. Only *_cuda.cc files include this.
#ifndef DOPPIO_CORE_MATH_CUDNN_WAYS_H_
#define DOPPIO_CORE_MATH_CUDNN_WAYS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/math/cudnn_step.h"
#include "core/math/cudnn_timer.h"

namespace doppio {

struct CudnnWay {
  // The graph; null when cuDNN has no plan for it.
  std::function<std::shared_ptr<CudnnGraphStep>()> find;
  std::vector<CudnnRole> roles;  // that the graph reads and writes
  // Enqueues what has to follow, in the timer's memory. Empty: nothing.
  std::function<void(const CudnnTimer& memory)> after;
  // Factor on the measured time: above 1 for a way that has another drawback, such as rounding.
  float weight = 1;
};

struct ChosenWay {
  std::shared_ptr<CudnnGraphStep> step;  // null: no way has a plan
  size_t index = 0;
};

// The fastest of `ways`, remembered like plans (cudnn_choices.h); the first that has a plan where
// nothing is measured. `key` names what is computed, `memory` has a place for every role.
ChosenWay ChooseWay(Device* device, const std::string& key,
                    const std::vector<CudnnTimer::Memory>& memory,
                    const std::vector<CudnnWay>& ways);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_WAYS_H_

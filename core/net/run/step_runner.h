// Runs the steps of one direction of a plan. Where the device can record work, stretches of steps
// that do the same in every pass are recorded when they come for the second time, and repeated as
// one from then on: a launch per stretch instead of several per layer. The first pass goes step by
// step, because libraries set themselves up in it.
#ifndef DOPPIO_CORE_NET_RUN_STEP_RUNNER_H_
#define DOPPIO_CORE_NET_RUN_STEP_RUNNER_H_

#include <functional>
#include <memory>
#include <vector>

#include "core/device/device.h"
#include "core/net/plan/plan.h"

namespace doppio {

class StepRunner {
 public:
  StepRunner() = default;
  // `steps` of `plan`, which outlives the runner.
  StepRunner(const Plan& plan, const std::vector<PlanStep>& steps, Device* device);

  // run(step) for every step, in order, or what it has been seen to do. after(step), on the calling
  // thread, for every step that has been run or, inside a recording, sent on its way. Where
  // ends(step), which says the same in every pass, nothing behind the step is on its way by then;
  // null: that matters nowhere.
  void Run(const std::function<void(const PlanStep&)>& run,
           const std::function<void(const PlanStep&)>& after,
           const std::function<bool(const PlanStep&)>& ends = nullptr);

  // Returns true if the next Run, with or without `ends`, comes to some step for the first time or
  // records some.
  bool Fresh(bool ends) const;

  // Stretches that are repeated as one by now.
  int recordings() const;

 private:
  struct Stretch {
    size_t begin = 0, end = 0;
    bool recordable = false;
    std::unique_ptr<Recording> recording;
  };

  void CutBehind(const std::function<bool(const PlanStep&)>& ends);

  const std::vector<PlanStep>* steps_ = nullptr;
  Device* device_ = nullptr;
  std::vector<Stretch> stretches_;
  bool first_pass_ = true, cut_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_STEP_RUNNER_H_

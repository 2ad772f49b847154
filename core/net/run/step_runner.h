// Runs the steps of one direction of a plan. If the device can record work, each stretch of steps
// that do the same in every pass is recorded when it runs for the second time and replayed from
// then on: one launch per stretch instead of several per layer. The first pass runs step by step,
// because libraries initialise themselves during it.
#ifndef DOPPIO_CORE_NET_RUN_STEP_RUNNER_H_
#define DOPPIO_CORE_NET_RUN_STEP_RUNNER_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/device/device.h"
#include "core/net/plan/plan.h"

namespace doppio {

// Runs a list of steps repeatedly. Not thread-safe.
class StepRunner {
 public:
  StepRunner() = default;
  // `steps` belong to `plan`, which must outlive the runner.
  StepRunner(const Plan& plan, const std::vector<PlanStep>& steps, Device* device)
      : StepRunner(plan, steps, {0, steps.size()}, device) {}
  // Runs only the steps in `range`: the first index, and the one behind the last.
  StepRunner(const Plan& plan, const std::vector<PlanStep>& steps, std::pair<size_t, size_t> range,
             Device* device);

  // Calls run(step) for every step in order, or replays a recording of that call. Calls
  // after(step), on the calling thread, for every step that has run or, in a recording, has been
  // enqueued. If ends(step) is true, no later step has been enqueued when after(step) is called.
  // ends(step) must return the same in every pass; null means that all steps may be grouped.
  void Run(const std::function<void(const PlanStep&)>& run,
           const std::function<void(const PlanStep&)>& after,
           const std::function<bool(const PlanStep&)>& ends = nullptr);

  // Returns true if the next Run runs or records some step for the first time. Pass true for
  // `ends` if that Run will get its argument `ends`.
  bool Fresh(bool ends) const;

  // Returns the number of recorded stretches.
  int recordings() const;

 private:
  struct Stretch {
    size_t begin = 0, end = 0;
    bool recordable = false;
    std::unique_ptr<Recording> recording;
  };

  void SplitAfter(const std::function<bool(const PlanStep&)>& ends);

  const std::vector<PlanStep>* steps_ = nullptr;
  Device* device_ = nullptr;
  std::vector<Stretch> stretches_;
  bool first_pass_ = true, cut_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_STEP_RUNNER_H_

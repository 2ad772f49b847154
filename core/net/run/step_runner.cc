#include "core/net/run/step_runner.h"

#include <algorithm>
#include <utility>

namespace doppio {
namespace {

bool Recordable(const Plan& plan, const PlanStep& step) {
  if (step.kind == StepKind::kLayer) return plan.kernels[step.node]->same_every_pass();
  // Copies to and from the host use two streams, and a filled value changes with the loss scale.
  return step.kind == StepKind::kReorder || step.kind == StepKind::kAdd ||
         step.kind == StepKind::kCopy;
}

}  // namespace

StepRunner::StepRunner(const Plan& plan, const std::vector<PlanStep>& steps,
                       std::pair<size_t, size_t> range, Device* device)
    : steps_(&steps), device_(device) {
  for (size_t i = range.first; i < range.second; ++i) {
    const bool recordable = device->settings.records && Recordable(plan, steps[i]);
    if (stretches_.empty() || stretches_.back().recordable != recordable)
      stretches_.push_back({i, i, recordable, {}});
    stretches_.back().end = i + 1;
  }
}

// Splits stretches after the steps for which `ends` is true. Discards the recordings of stretches
// that it splits.
void StepRunner::SplitAfter(const std::function<bool(const PlanStep&)>& ends) {
  std::vector<Stretch> cut;
  for (Stretch& stretch : stretches_) {
    size_t begin = stretch.begin;
    for (size_t i = begin; i + 1 < stretch.end; ++i) {
      if (!ends((*steps_)[i])) continue;
      cut.push_back({begin, i + 1, stretch.recordable, {}});
      begin = i + 1;
    }
    if (begin > stretch.begin) stretch = {begin, stretch.end, stretch.recordable, {}};
    cut.push_back(std::move(stretch));
  }
  stretches_ = std::move(cut);
}

void StepRunner::Run(const std::function<void(const PlanStep&)>& run,
                     const std::function<void(const PlanStep&)>& after,
                     const std::function<bool(const PlanStep&)>& ends) {
  if (ends && !cut_) SplitAfter(ends);
  cut_ = cut_ || ends;
  for (Stretch& stretch : stretches_) {
    const auto each = [&](const std::function<void(const PlanStep&)>& f) {
      for (size_t i = stretch.begin; i < stretch.end; ++i) f((*steps_)[i]);
    };
    if (stretch.recordable && !first_pass_ && stretch.recording == nullptr) {
      const size_t begin = stretch.begin, end = stretch.end;
      stretch.recording = device_->Record([steps = steps_, begin, end, run] {
        for (size_t i = begin; i < end; ++i) run((*steps)[i]);
      });
      stretch.recordable = stretch.recording != nullptr;  // asks the device only once
    }
    if (stretch.recording != nullptr) {
      stretch.recording->Run();
      if (after) each(after);
      continue;
    }
    for (size_t i = stretch.begin; i < stretch.end; ++i) {
      run((*steps_)[i]);
      if (after) after((*steps_)[i]);
    }
  }
  first_pass_ = false;
}

bool StepRunner::Fresh(bool ends) const {
  if (first_pass_ || (ends && !cut_)) return true;
  return std::any_of(stretches_.begin(), stretches_.end(), [](const Stretch& stretch) {
    return stretch.recordable && stretch.recording == nullptr;
  });
}

int StepRunner::recordings() const {
  return static_cast<int>(
      std::count_if(stretches_.begin(), stretches_.end(),
                    [](const Stretch& stretch) { return stretch.recording != nullptr; }));
}

}  // namespace doppio

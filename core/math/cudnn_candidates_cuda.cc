#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/math/cudnn_candidates.h"
#include "core/math/cudnn_choices.h"

namespace doppio {
namespace {

// Returns the measured time in ms, multiplied by the candidate's weight. Throws DeviceError if the
// candidate does not run.
float MsOf(const CudnnCandidate& candidate, CudnnGraphStep* step, CudnnTimer* timer) {
  std::vector<CudnnPlan::Place> places;
  for (CudnnRole role : candidate.roles) places.push_back({role, timer->at(role)});
  const float ms = timer->Ms([&] {
    step->Run(places, timer->workspace(), "a measurement");
    if (candidate.after) candidate.after(*timer);
  });
  step->ForgetAddresses();
  return candidate.weight * ms;
}

class Comparison {
 public:
  struct Result {
    ChosenCandidate best;
    bool settled = true;  // false: a later process may find a faster plan for a candidate
  };

  Comparison(Device* device, const std::string& what, const std::vector<CudnnTimer::Memory>& memory,
             const std::vector<CudnnCandidate>& candidates)
      : device_(device), what_(what), memory_(memory), candidates_(candidates) {}

  ChosenCandidate First() const {
    for (const bool slow : {false, true}) {
      for (size_t i = 0; i < candidates_.size(); ++i) {
        if (candidates_[i].slow != slow) continue;
        if (auto step = candidates_[i].find()) return {step, i, Unmeasured(i)};
      }
    }
    return {};
  }

  ChosenCandidate At(const AlgorithmChoice& choice) const {
    if (choice.size() != 1 || choice[0] < 0) return {};
    const auto index = static_cast<size_t>(choice[0]);
    if (index >= candidates_.size()) return {};
    return {candidates_[index].find(), index, Unmeasured(index)};
  }

  // Returns a result without a step if there are fewer than two candidates to compare, or not
  // enough memory to measure.
  Result Fastest() const try {
    Result result;
    std::vector<ChosenCandidate> found;
    int64_t most = 0;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      auto step = candidates_[i].find();
      if (step == nullptr) continue;
      most = std::max(most, step->workspace_bytes());
      result.settled &= step->settled();
      found.push_back({std::move(step), i, {}});
    }
    if (found.size() < 2) return {};
    CudnnTimer timer(device_, memory_, most);
    std::vector<Candidate> ways;
    for (const ChosenCandidate& one : found) {
      const CudnnCandidate& candidate = candidates_[one.index];
      ways.push_back({candidate.name, 0, [&] {
                        try {
                          const double ms = MsOf(candidate, one.step.get(), &timer);
                          return CandidateTrial{"", ms, std::to_string(ms) + " ms"};
                        } catch (const DeviceError& e) {
                          return CandidateTrial{e.message(), 0, ""};  // it does not run
                        }
                      }});
    }
    CandidateChoice choice = ChooseAmong(what_, ways);
    if (choice.chosen < 0) return result;
    result.best = found[static_cast<size_t>(choice.chosen)];
    result.best.choice = std::move(choice);
    return result;
  } catch (const DeviceError&) {
    return {};
  }

 private:
  // Returns a choice by other means than a measurement of this process.
  CandidateChoice Unmeasured(size_t chosen) const {
    CandidateChoice choice;
    choice.what = what_;
    for (const CudnnCandidate& candidate : candidates_)
      choice.rows.push_back({candidate.name, false, CandidateTrial()});
    choice.chosen = static_cast<int>(chosen);
    return choice;
  }

  Device* const device_;
  const std::string what_;
  const std::vector<CudnnTimer::Memory>& memory_;
  const std::vector<CudnnCandidate>& candidates_;
};

}  // namespace

ChosenCandidate ChooseCandidate(Device* device, const std::string& key, const std::string& what,
                                const std::vector<CudnnTimer::Memory>& memory,
                                const std::vector<CudnnCandidate>& candidates) {
  const Comparison comparison(device, what, memory, candidates);
  if (!MeasuresCudnn(*device)) return comparison.First();
  ChosenCandidate chosen;
  const auto measure = [&](const std::optional<CachedChoice>&) -> std::optional<CachedChoice> {
    const Comparison::Result result = comparison.Fastest();
    chosen = result.best;
    if (chosen.step == nullptr) return std::nullopt;
    // Unless settled, the next process compares all candidates again.
    return CachedChoice{{static_cast<int64_t>(chosen.index)},
                        result.settled ? CachedChoice::kAll : 1};
  };
  const std::optional<CachedChoice> kept =
      FindCudnnChoice(device, CudnnChoiceKey(device, key), measure);
  if (chosen.step == nullptr && kept) chosen = comparison.At(kept->choice);
  return chosen.step != nullptr ? chosen : comparison.First();
}

}  // namespace doppio

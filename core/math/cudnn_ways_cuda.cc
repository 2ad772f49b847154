#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/math/cudnn_choices.h"
#include "core/math/cudnn_ways.h"

namespace doppio {
namespace {

// Returns the measured time in ms, multiplied by the way's weight. Throws DeviceError if the way
// does not run.
float MsOf(const CudnnWay& way, CudnnGraphStep* step, CudnnTimer* timer) {
  std::vector<CudnnPlan::Place> places;
  for (CudnnRole role : way.roles) places.push_back({role, timer->at(role)});
  const float ms = timer->Ms([&] {
    step->Run(places, timer->workspace(), "a measurement");
    if (way.after) way.after(*timer);
  });
  step->ForgetPlaces();
  return way.weight * ms;
}

class Contest {
 public:
  Contest(Device* device, const std::vector<CudnnTimer::Memory>& memory,
          const std::vector<CudnnWay>& ways)
      : device_(device), memory_(memory), ways_(ways) {}

  ChosenWay First() const {
    for (size_t i = 0; i < ways_.size(); ++i) {
      if (auto step = ways_[i].find()) return {step, i};
    }
    return {};
  }

  ChosenWay At(const AlgorithmChoice& choice) const {
    if (choice.size() != 1 || choice[0] < 0) return {};
    const auto index = static_cast<size_t>(choice[0]);
    return index < ways_.size() ? ChosenWay{ways_[index].find(), index} : ChosenWay{};
  }

  // Returns a result without a step if there are fewer than two ways to compare, or not enough
  // memory to measure.
  ChosenWay Fastest() const try {
    std::vector<ChosenWay> found;
    int64_t most = 0;
    for (size_t i = 0; i < ways_.size(); ++i) {
      auto step = ways_[i].find();
      if (step == nullptr) continue;
      most = std::max(most, step->workspace_bytes());
      found.push_back({std::move(step), i});
    }
    if (found.size() < 2) return {};
    CudnnTimer timer(device_, memory_, most);
    ChosenWay best;
    float least_ms = 0;
    for (const ChosenWay& one : found) {
      try {
        const float ms = MsOf(ways_[one.index], one.step.get(), &timer);
        if (best.step != nullptr && ms >= least_ms) continue;
        best = one;
        least_ms = ms;
      } catch (const DeviceError&) {
        // This way does not run; try the others.
      }
    }
    return best;
  } catch (const DeviceError&) {
    return {};
  }

 private:
  Device* const device_;
  const std::vector<CudnnTimer::Memory>& memory_;
  const std::vector<CudnnWay>& ways_;
};

}  // namespace

ChosenWay ChooseWay(Device* device, const std::string& key,
                    const std::vector<CudnnTimer::Memory>& memory,
                    const std::vector<CudnnWay>& ways) {
  const Contest contest(device, memory, ways);
  if (!MeasuresCudnn(*device)) return contest.First();
  ChosenWay chosen;
  const auto measure = [&](const std::optional<KeptChoice>&) -> std::optional<KeptChoice> {
    chosen = contest.Fastest();
    if (chosen.step == nullptr) return std::nullopt;
    return KeptChoice{{static_cast<int64_t>(chosen.index)}};
  };
  const std::optional<KeptChoice> kept =
      CudnnChoices(*device).FindOrMeasure(CudnnChoiceKey(device, key), measure);
  if (chosen.step == nullptr && kept) chosen = contest.At(kept->choice);
  return chosen.step != nullptr ? chosen : contest.First();
}

}  // namespace doppio

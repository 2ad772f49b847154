// Delta debugging (Zeller, Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002)
// on the two messages of a case.
#include "tests/random/shrink.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "tests/random/batch.h"
#include "tests/random/smaller.h"

namespace doppio {
namespace {

class Shrinker {
 public:
  Shrinker(RandomCase random_case, const std::function<bool(const RandomCase&)>& fails,
           const ShrinkLimits& limits)
      : case_(std::move(random_case)), fails_(fails), limits_(limits) {}

  RandomCase Run() {
    // The steps that make all further tries faster come first.
    for (bool smaller = true; smaller && !Exhausted();) {
      smaller = Iterations();
      smaller |= Layers(&WithoutBranch);
      smaller |= Layers(&WithoutLayers);
      smaller |= Batches();
      smaller |= Solver();
      smaller |= Fields();
      smaller |= Extents();
    }
    return case_;
  }

 private:
  bool Exhausted() const {
    const std::chrono::duration<double> taken = Clock::now() - begun_;
    return tries_ >= limits_.tries || taken.count() > limits_.seconds;
  }

  // Takes the candidate if it fails, too.
  bool Try(RandomCase candidate) {
    if (Exhausted()) return false;
    ++tries_;
    candidate.traits = TraitsOf(candidate.net);
    if (!fails_(candidate)) return false;
    case_ = std::move(candidate);
    return true;
  }

  bool Iterations() {
    bool smaller = false;
    for (bool again = true; again;) {
      again = false;
      for (const int64_t fewer : SmallerExtents(case_.solver.max_iter())) {
        RandomCase candidate = case_;
        candidate.solver.set_max_iter(static_cast<int32_t>(fewer));
        again = again || Try(candidate);
      }
      smaller |= again;
    }
    return smaller;
  }

  // Leaves out more and more, then fewer and fewer layers at once, from the last one on.
  bool Layers(NetParameter (*without)(const NetParameter&, int, int)) {
    bool smaller = false;
    for (int chunk = std::max(1, case_.net.layer_size() / 2); chunk > 0; chunk /= 2) {
      for (int end = case_.net.layer_size(); end > 0; end -= chunk) {
        end = std::min(end, case_.net.layer_size());
        RandomCase candidate = case_;
        candidate.net = without(case_.net, std::max(0, end - chunk), end);
        smaller |= Try(candidate);
      }
    }
    return smaller;
  }

  bool Batches() {
    bool smaller = false;
    for (const Phase phase : {TRAIN, TEST}) {
      const std::vector<int64_t> batches = BatchesOf(case_.net, phase);
      if (batches.empty()) continue;
      for (const int64_t fewer : SmallerExtents(batches[0])) {
        RandomCase candidate = case_;
        ChangeBatches(&candidate.net, phase, [&](int64_t) { return fewer; });
        if (!Try(candidate)) continue;
        smaller = true;
        break;
      }
    }
    return smaller;
  }

  bool Solver() {
    bool smaller = false;
    RandomCase plain = case_;
    plain.solver.Clear();
    plain.solver.set_base_lr(case_.solver.has_base_lr() ? case_.solver.base_lr() : 0.01f);
    plain.solver.set_lr_policy("fixed");
    if (case_.solver.has_max_iter()) plain.solver.set_max_iter(case_.solver.max_iter());
    if (plain.solver.ByteSizeLong() < case_.solver.ByteSizeLong()) smaller |= Try(plain);
    for (int i = 0; !Exhausted();) {
      RandomCase candidate = case_;
      if (!RemoveField(i, &candidate.solver)) break;
      if (Try(candidate)) {
        smaller = true;
      } else {
        ++i;
      }
    }
    return smaller;
  }

  bool Fields() {
    bool smaller = false;
    for (int i = 0; !Exhausted();) {
      RandomCase candidate = case_;
      if (!RemoveField(i, &candidate.net)) break;
      if (Try(candidate)) {
        smaller = true;
      } else {
        ++i;
      }
    }
    return smaller;
  }

  bool Extents() {
    bool smaller = false;
    for (int i = 0; !Exhausted(); ++i) {
      bool found = true, changed = true;
      for (size_t choice = 0; found && changed; ++choice) {
        RandomCase candidate = case_;
        found = LowerExtent(i, choice, &candidate.net, &changed);
        if (!found || !changed || !Try(candidate)) continue;
        smaller = true;
        break;
      }
      if (!found) break;
    }
    return smaller;
  }

  using Clock = std::chrono::steady_clock;

  RandomCase case_;
  const std::function<bool(const RandomCase&)>& fails_;
  const ShrinkLimits limits_;
  const Clock::time_point begun_ = Clock::now();
  int tries_ = 0;
};

}  // namespace

RandomCase Shrink(RandomCase random_case, const std::function<bool(const RandomCase&)>& fails,
                  const ShrinkLimits& limits) {
  return Shrinker(std::move(random_case), fails, limits).Run();
}

}  // namespace doppio

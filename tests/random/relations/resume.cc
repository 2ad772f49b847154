// A training that stops at any iteration and resumes gives the bits of the uninterrupted one, from
// both formats of snapshots.
#include <algorithm>
#include <iterator>
#include <utility>

#include "tests/random/relation.h"

namespace doppio {
namespace {

int64_t IterationsOf(const Outcome& outcome) {
  return std::count_if(outcome.numbers.begin(), outcome.numbers.end(),
                       [](const auto& number) { return number.first.rfind("loss ", 0) == 0; });
}

// Returns the numbers that a run has after `iteration` updates: those at its end, and the losses
// and scores of later iterations. A state holds the moment before the tests of its iteration.
Outcome After(Outcome outcome, int64_t iteration) {
  outcome = Without(std::move(outcome), {"move"});
  for (auto it = outcome.numbers.begin(); it != outcome.numbers.end();) {
    const std::string& name = it->first;
    const std::string kind = name.substr(0, name.find(' '));
    const bool counted = kind == "loss" || kind == "test" || kind == "mean";
    const int64_t at = counted ? std::stoll(name.substr(name.rfind(' '))) : 0;
    const bool earlier = counted && (kind == "loss" ? at <= iteration : at < iteration);
    it = earlier ? outcome.numbers.erase(it) : std::next(it);
  }
  return outcome;
}

// Removes statistics that only tests gather. Snapshots do not have them, as in Caffe, and no result
// depends on them: BatchNorm that gathers them computes with those of the batch.
Outcome WithoutThoseOfTests(Outcome outcome, const NetParameter& net) {
  for (const LayerParameter& layer : net.layer()) {
    const bool test = std::any_of(layer.include().begin(), layer.include().end(),
                                  [](const NetStateRule& rule) { return rule.phase() == TEST; });
    const std::string name = "weight " + layer.name() + " ";
    for (auto it = outcome.numbers.lower_bound(name);
         test && it != outcome.numbers.end() && it->first.rfind(name, 0) == 0;)
      it = outcome.numbers.erase(it);
  }
  return outcome;
}

std::string CheckResume(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  RandomCase changed = random_case;
  changed.solver.set_snapshot_format(draw->Chance(0.5) ? SolverParameter::HDF5
                                                       : SolverParameter::BINARYPROTO);
  Way way;
  way.folder = folder;
  way.threads = draw->Of<int>({1, 2, 3});
  const Outcome whole = Run(changed, way);
  if (Declined(whole)) return "";
  const int64_t iterations = IterationsOf(whole);
  if (iterations < 2) return "";
  Way first = way;
  first.stop = draw->Int(1, iterations - 1);
  const Outcome stopped = Run(changed, first);
  if (stopped.state.empty()) return "no snapshot after a request to stop: " + stopped.refused;
  Way second = way;
  second.resume = stopped.state;
  const Outcome resumed = Run(changed, second);
  const auto compared = [&](const Outcome& outcome) {
    return WithoutThoseOfTests(After(outcome, first.stop), random_case.net);
  };
  const std::string why = Same(compared(resumed), compared(whole));
  return why.empty() ? "" : "resumed after iteration " + std::to_string(first.stop) + ": " + why;
}

DOPPIO_REGISTER(Relations, "resume", {&CheckResume, &Always});

}  // namespace
}  // namespace doppio

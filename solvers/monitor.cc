#include "solvers/monitor.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/nearest.h"

namespace doppio {

bool MetricRule::Better(double value, double than, double delta) const {
  if (std::isnan(value) || std::isnan(than)) return std::isnan(than) && !std::isnan(value);
  return maximise ? value > than + delta : value < than - delta;
}

MetricRule ParseMetricRule(const std::string& flag, const std::string& text) {
  const std::string kind = text.substr(0, 4);
  if ((kind != "max:" && kind != "min:") || text.size() == kind.size()) {
    throw UsageError("--" + flag + " wants max:NAME or min:NAME with the name of a test's output, such as max:accuracy, got '" +
                     text + "'");
  }
  return {kind == "max:", text.substr(kind.size())};
}

bool Monitor::Judge(const std::vector<TestScores>& tests, int64_t iteration) {
  std::set<std::string> known;
  for (const TestScores& test : tests) {
    for (const OutputValue& score : test.scores) {
      known.insert(score.blob);
      if (score.blob != rule_.metric.metric) continue;
      const bool better = !best_ ? !std::isnan(score.value) : rule_.metric.Better(score.value, *best_, rule_.delta);
      rounds_since_ = better ? 0 : rounds_since_ + 1;
      if (better) {
        best_ = score.value;
        best_iteration_ = iteration;
      }
      return better;
    }
  }
  const std::vector<std::string> names(known.begin(), known.end());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  throw UserError({}, "no test net puts out '" + rule_.metric.metric + "', which is to be monitored" +
                          DidYouMean(rule_.metric.metric, names) + (list.empty() ? "" : " There are: " + list));
}

void Monitor::Save(RunState* state) const {
  state->set_monitored(rule_.metric.ToString());
  state->set_rounds_since_best(rounds_since_);
  if (!best_) return;
  state->set_best_score(*best_);
  state->set_best_iter(best_iteration_);
}

void Monitor::Restore(const RunState& state) {
  if (state.monitored() != rule_.metric.ToString()) return;
  rounds_since_ = state.rounds_since_best();
  if (!state.has_best_score()) return;
  best_ = state.best_score();
  best_iteration_ = state.best_iter();
}

}  // namespace doppio

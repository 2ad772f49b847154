#include "solvers/scores/monitor.h"

#include <cmath>
#include <set>

#include "core/base/text/nearest.h"
#include "solvers/update/field_check.h"

namespace doppio {

bool MetricRule::Better(double value, double than, double delta) const {
  if (std::isnan(value) || std::isnan(than)) return std::isnan(than) && !std::isnan(value);
  return maximise ? value > than + delta : value < than - delta;
}

MetricRule ParseMetricRule(const std::string& flag, const std::string& text) {
  const std::string kind = text.substr(0, 4);
  if ((kind != "max:" && kind != "min:") || text.size() == kind.size()) {
    throw UsageError("--", flag,
                     " must be max:NAME or min:NAME with the name of a test's output, such as "
                     "max:accuracy, got '",
                     text, "'");
  }
  return {kind == "max:", text.substr(kind.size())};
}

void Monitor::CheckKnown(const std::vector<std::string>& outputs, const std::string& absent) const {
  const std::set<std::string> known(outputs.begin(), outputs.end());
  if (known.count(rule_.metric.metric) > 0) return;
  const std::vector<std::string> names(known.begin(), known.end());
  std::string list = JoinList(names);
  const std::string meant = absent.empty() ? DidYouMean(rule_.metric.metric, names) : "";
  if (!list.empty()) list = (meant.empty() ? "; there are: " : " There are: ") + list;
  throw UserError({}, "no test net has an output '", rule_.metric.metric,
                  "', which the monitor needs", absent, meant, list);
}

bool Monitor::Record(const std::vector<TestScores>& tests, int64_t iteration) {
  const double none = std::nan("");
  double score = none;
  for (auto test = tests.rbegin(); test != tests.rend(); ++test) {
    for (auto output = test->scores.rbegin(); output != test->scores.rend(); ++output) {
      if (output->blob == rule_.metric.metric) score = output->value;
    }
  }
  const bool gain = rule_.metric.Better(score, gain_.value_or(none), rule_.delta);
  rounds_without_gain_ = gain ? 0 : rounds_without_gain_ + 1;
  if (gain) gain_ = score;
  if (!rule_.metric.Better(score, best_.value_or(none))) return false;
  best_ = score;
  best_iteration_ = iteration;
  return true;
}

void Monitor::Save(RunState* state) const {
  state->set_monitored(rule_.metric.ToString());
  state->set_rounds_without_gain(rounds_without_gain_);
  if (!best_) return;
  state->set_best_score(*best_);
  state->set_best_iter(best_iteration_);
  state->set_patience_score(*gain_);
}

void Monitor::Restore(const RunState& state) {
  if (state.monitored() != rule_.metric.ToString()) return;
  rounds_without_gain_ = state.rounds_without_gain();
  if (!state.has_best_score()) return;
  best_ = state.best_score();
  best_iteration_ = state.best_iter();
  gain_ = state.patience_score();
}

}  // namespace doppio

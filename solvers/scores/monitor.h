// Tracks a test score to find the best state of a training run and to decide on early stopping.
#ifndef DOPPIO_SOLVERS_SCORES_MONITOR_H_
#define DOPPIO_SOLVERS_SCORES_MONITOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/solver.pb.h"
#include "solvers/scores/test_pass.h"

namespace doppio {

// A test net's output and the direction in which it improves, e.g. "max:accuracy".
struct MetricRule {
  bool maximise = true;
  std::string metric;

  // Returns true if `value` is better than `than` by more than `delta`. Any number is better than
  // NaN; NaN is never better.
  bool Better(double value, double than, double delta = 0) const;
  std::string ToString() const { return (maximise ? "max:" : "min:") + metric; }
};
// Parses text such as "max:accuracy" or "min:loss". Throws UsageError naming `flag`.
MetricRule ParseMetricRule(const std::string& flag, const std::string& text);

// The metric of a Monitor and its rule for early stopping.
struct MonitorRule {
  MetricRule metric;
  // Consecutive rounds of tests without a gain after which training should end; 0: never.
  int64_t patience = 0;
  // A score is a gain if it is better than the last gain by more than `delta`.
  double delta = 0;
};

// Records rounds of tests in order.
class Monitor {
 public:
  explicit Monitor(MonitorRule rule) : rule_(std::move(rule)) {}

  // Throws UserError, listing `outputs`, if the metric is not among these outputs of the test nets.
  // `absent` says why it is not, or is "" (WhyAbsent in core/net/spec/spec.h).
  void CheckKnown(const std::vector<std::string>& outputs, const std::string& absent = "") const;

  // Records one round of tests. Returns true if its score is better than all previous scores, by
  // any amount. If several test nets have the metric, the first one counts.
  bool Record(const std::vector<TestScores>& tests, int64_t iteration);
  // Returns true if the last `patience` rounds brought no gain.
  bool Exhausted() const { return rule_.patience > 0 && rounds_without_gain_ >= rule_.patience; }

  const MonitorRule& rule() const { return rule_; }
  std::optional<double> best() const { return best_; }
  int64_t best_iteration() const { return best_iteration_; }

  // Adds the monitor's state to `state`.
  void Save(RunState* state) const;
  // Restores the monitor's state. Does nothing if `state` holds scores of another metric.
  void Restore(const RunState& state);

 private:
  MonitorRule rule_;
  std::optional<double> best_;
  int64_t best_iteration_ = -1;
  std::optional<double> gain_;  // score of the last gain
  int64_t rounds_without_gain_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_SCORES_MONITOR_H_

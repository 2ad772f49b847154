// The score that says which state of a training is the best, and when training on is in vain.
#ifndef DOPPIO_SOLVERS_TRAINER_MONITOR_H_
#define DOPPIO_SOLVERS_TRAINER_MONITOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/solver.pb.h"
#include "solvers/trainer/test_pass.h"

namespace doppio {

// "max:accuracy": an output of a test net, and whether more of it is better.
struct MetricRule {
  bool maximise = true;
  std::string metric;

  // By more than `delta`; every number is better than none (NaN), and none is better than nothing.
  bool Better(double value, double than, double delta = 0) const;
  std::string ToString() const { return (maximise ? "max:" : "min:") + metric; }
};
// "max:accuracy", "min:loss". UsageError that names `flag`.
MetricRule ParseMetricRule(const std::string& flag, const std::string& text);

struct MonitorRule {
  MetricRule metric;
  int64_t patience =
      0;  // rounds of tests in a row without a gain, after which the training is to end; 0: never
  double delta = 0;  // a score is a gain where it is better than the last gain by more than this
};

// Judges rounds of tests, one after the other.
class Monitor {
 public:
  explicit Monitor(MonitorRule rule) : rule_(std::move(rule)) {}

  // UserError, with what there is, where none of these outputs of test nets is the one to be
  // monitored.
  void CheckKnown(const std::vector<std::string>& outputs) const;

  // Whether this round's score is the best so far, by however little: that of the first test net
  // that has it.
  bool Judge(const std::vector<TestScores>& tests, int64_t iteration);
  // No gain for as long as the rule is patient.
  bool Exhausted() const { return rule_.patience > 0 && rounds_without_gain_ >= rule_.patience; }

  const MonitorRule& rule() const { return rule_; }
  std::optional<double> best() const { return best_; }
  int64_t best_iteration() const { return best_iteration_; }

  // What a snapshot keeps. Scores by another metric are not restored.
  void Save(RunState* state) const;
  void Restore(const RunState& state);

 private:
  MonitorRule rule_;
  std::optional<double> best_;
  int64_t best_iteration_ = -1;
  std::optional<double> gain_;  // the score that the last gain was
  int64_t rounds_without_gain_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_MONITOR_H_

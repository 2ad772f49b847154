#include "solvers/trainer/test_rounds.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "solvers/trainer/empty_statistics.h"
#include "solvers/state/run_state.h"
#include "solvers/scores/test_pass.h"
#include "solvers/update/rule_check.h"

namespace doppio {

TestRounds::TestRounds(TrainingRun* run, const TrainingNets* nets)
    : run_(run), nets_(nets), precision_(ReadPrecisionRule(run->spec.param, run->spec.places)) {
  if (!run->options.monitor) return;
  monitor_.emplace(*run->options.monitor);
  std::string absent;
  std::vector<std::string> outputs;
  for (const auto& net : nets->tests()) {
    if (absent.empty()) absent = WhyAbsent(net->graph().spec, run->options.monitor->metric.metric);
    for (const NetOutput& output : net->outputs()) outputs.push_back(output.blob);
  }
  monitor_->CheckKnown(outputs, absent);
}

bool TestRounds::Due() const {
  return run_->schedule.TestAt(run_->iteration) && !done() &&
         (run_->iteration > 0 || run_->spec.param.test_initialization());
}

bool TestRounds::DueAtEnd() const {
  if (done()) return false;
  if (run_->schedule.TestAt(run_->iteration)) return true;
  if (!TestsLast()) return false;
  LOG(INFO) << "Testing the weights after the last iteration, too (test_last: false omits this)";
  return true;
}

bool TestRounds::TestsLast() const {
  const SolverParameter& param = run_->spec.param;
  if (nets_->tests().empty() || !param.test_last()) return false;
  return monitor_ || param.test_initialization() || run_->schedule.TestsByTheEnd();
}

bool TestRounds::Run(const std::function<bool()>& interrupted) {
  before_.reset();
  for (size_t i = 0; i < nets_->tests().size(); ++i) {
    if (!run_->schedule.whole_test[i]) continue;
    SeekSources(nets_->tests()[i].get(), 0);
    ResetCarriedState(*nets_->tests()[i]);
  }
  RunState before;
  Save(&before);
  before_ = std::move(before);
  std::vector<TestScores>& tests = run_->result.tests;
  tests.clear();
  for (size_t i = 0; i < nets_->tests().size() && !run_->stop; ++i) Test(i, interrupted);
  if (run_->stop || !monitor_ || !monitor_->Record(tests, run_->iteration)) return false;
  if (run_->options.on_best) run_->options.on_best(*best());
  return true;
}

void TestRounds::Test(size_t i, const std::function<bool()>& interrupted) {
  const SolverParameter& param = run_->spec.param;
  TestRun test;
  test.net = nets_->tests()[i].get();
  test.batches = run_->schedule.test_iter[i];
  test.rows = FindSource(*test.net).batch;
  test.last = nets_->last_tests()[i].get();
  test.last_rows = run_->schedule.last_rows[i];
  test.class_names =
      ClassNamesOf({test.net->graph().preprocessing, nets_->train().graph().preprocessing});
  test.named_errors = precision_ ? -1 : run_->options.named_errors;
  LOG(INFO) << "Iteration " << run_->iteration << ", Testing net (#" << i << ")";
  std::optional<DetectionScores> detections;
  if (precision_)
    detections.emplace(DetectionOutputs(*test.net, run_->spec.places.At("eval_type")));
  const World* const sharing = test.net->pass().ranks > 1 ? run_->options.world : nullptr;
  TestScores scores = RunTest(test, sharing, interrupted,
                              [&](int64_t batch, const std::vector<OutputValue>& outputs) {
                                if (detections) detections->Add(batch, outputs);
                              });
  if (detections && scores.complete) {
    if (sharing != nullptr) detections->Gather(&sharing->control());
    scores.scores = detections->Log(*precision_, param.show_per_class_result());
  }
  // Some ranks may have run one batch more than others, so all ranks take the same position.
  if (sharing != nullptr && scores.complete)
    RestorePositions(TestPrefix(i), *before_, test.net, test.batches);
  scores.net = static_cast<int>(i);
  scores.iteration = run_->iteration;
  scores.averaged = TestsAverages(param);
  LogTest(scores, param.test_compute_loss());
  WarnAtNonFinite(scores, *test.net);
  if (run_->options.on_test) run_->options.on_test(scores);
  if (i == 0 && scores.predictions != nullptr) run_->result.evaluated = scores;
  scores.predictions.reset();
  run_->result.tests.push_back(std::move(scores));
}

void TestRounds::WarnAtNonFinite(const TestScores& scores, const Net& net) const {
  const std::string names = scores.complete ? NonFiniteScores(scores) : "";
  if (names.empty()) return;
  const std::string hint = run_->iteration == 0 ? EmptyStatisticsHint(scores, net) : "";
  LOG(WARNING) << "Iteration " << run_->iteration << ": "
               << (hint.empty() ? "these scores of test net #" + std::to_string(scores.net) +
                                      " are not finite: " + names +
                                      ". If the loss of the training is, the data of the test may "
                                      "hold NaN or infinity"
                                : hint);
}

void TestRounds::End() {
  if (run_->stop) return;
  if (monitor_ && monitor_->Exhausted() && run_->iteration < run_->schedule.max_iter) {
    const MonitorRule& rule = monitor_->rule();
    LOG(INFO) << "Iteration " << run_->iteration << ": " << rule.patience
              << " consecutive tests without a gain in " << rule.metric.metric << ", the best is "
              << monitor_->best().value_or(std::nan("")) << " of iteration "
              << monitor_->best_iteration();
    run_->result.stopped_early = true;
    run_->stop = true;
    return;
  }
  before_.reset();
  if (run_->options.elastic) done_at_ = run_->iteration;
}

std::optional<BestState> TestRounds::best() const {
  if (!monitor_ || !monitor_->best()) return std::nullopt;
  return BestState{monitor_->best_iteration(), *monitor_->best()};
}

void TestRounds::Save(RunState* state) const {
  if (before_) {
    *state = *before_;
    return;
  }
  for (size_t i = 0; i < nets_->tests().size(); ++i)
    SaveNetState(TestPrefix(i), *nets_->tests()[i], state);
  if (monitor_) monitor_->Save(state);
}

void TestRounds::Restore(const RunState& state, bool done) {
  if (monitor_) monitor_->Restore(state);
  if (done) done_at_ = run_->iteration;
}

}  // namespace doppio

// Runs the tests of a training run and passes their scores to the monitor.
#include <cmath>

#include "core/base/log.h"
#include "solvers/trainer/empty_statistics.h"
#include "solvers/trainer/trainer.h"

namespace doppio {

void Trainer::TestAll() {
  RunState before;
  for (size_t i = 0; i < test_nets_.size(); ++i) {
    if (schedule_.whole_test[i]) {
      SeekSources(test_nets_[i].get(), 0);
      ResetCarriedState(*test_nets_[i]);
    }
    SaveNetState(TestPrefix(i), *test_nets_[i], &before);
  }
  if (monitor_) monitor_->Save(&before);
  testing_ = before;
  result_.tests.clear();
  for (size_t i = 0; i < test_nets_.size() && !stop_; ++i) {
    LOG(INFO) << "Iteration " << iter_ << ", Testing net (#" << i << ")";
    TestRun run;
    run.net = test_nets_[i].get();
    run.batches = schedule_.test_iter[i];
    run.rows = FindSource(*run.net).batch;
    run.last = last_test_nets_[i].get();
    run.last_rows = schedule_.last_rows[i];
    run.class_names =
        ClassNamesOf({run.net->graph().preprocessing, train_net_->graph().preprocessing});
    std::optional<DetectionScores> detections;
    if (precision_) detections.emplace(DetectionOutputs(*run.net, spec_.places.At("eval_type")));
    const auto interrupted = [this] {
      HandleRequest();
      return stop_;
    };
    TestScores test = RunTest(run, options_.world, interrupted,
                              [&](int64_t batch, const std::vector<OutputValue>& outputs) {
                                if (detections) detections->Add(batch, outputs);
                              });
    if (detections && test.complete) {
      if (ranks() > 1) detections->Gather(&options_.world->control());
      test.scores = detections->Log(*precision_, spec_.param.show_per_class_result());
    }
    // Some ranks may have run one batch more than others, so all ranks take the same position.
    if (ranks() > 1 && test.complete)
      RestorePositions(TestPrefix(i), before, run.net, run.full_batches());
    test.net = static_cast<int>(i);
    test.iteration = iter_;
    LogTest(test, spec_.param.test_compute_loss());
    if (test.complete && iter_ == 0) {
      const std::string hint = EmptyStatisticsHint(test, *run.net);
      if (!hint.empty()) LOG(WARNING) << "Iteration 0: " << hint;
    }
    if (options_.on_test) options_.on_test(test);
    result_.tests.push_back(std::move(test));
  }
  if (!stop_ && monitor_) RecordTests();
  if (stop_) return;
  testing_.reset();
  if (options_.elastic) tested_iter_ = iter_;
}

// A snapshot of the best state holds the state before the tests, so a run that resumes from it
// repeats them.
void Trainer::RecordTests() {
  if (monitor_->Record(result_.tests, iter_)) {
    if (options_.on_best) options_.on_best({iter_, *monitor_->best()});
    if (options_.snapshot_best && snapshot_iter_ != iter_) Snapshot();
  }
  if (!monitor_->Exhausted() || iter_ >= schedule_.max_iter) return;
  const MonitorRule& rule = monitor_->rule();
  LOG(INFO) << "Iteration " << iter_ << ": " << rule.patience
            << " consecutive tests without a gain in " << rule.metric.metric << ", the best is "
            << monitor_->best().value_or(std::nan("")) << " of iteration "
            << monitor_->best_iteration();
  result_.stopped_early = true;
  stop_ = true;
}

std::optional<BestState> Trainer::best() const {
  if (!monitor_ || !monitor_->best()) return std::nullopt;
  return BestState{monitor_->best_iteration(), *monitor_->best()};
}

}  // namespace doppio

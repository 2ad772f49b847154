#include "solvers/trainer/iteration_log.h"

#include <sstream>
#include <string>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "solvers/state/run_state.h"

namespace doppio {

void IterationLog::Begin() {
  display_time_ = Clock::now();
  display_iter_ = run_->iteration;
  wait_seconds_ = WaitSeconds(*net_);
}

void IterationLog::Show(double smoothed_loss) {
  const int64_t iteration = run_->iteration;
  const int ranks = run_->ranks();
  const double seconds = SecondsSince(display_time_);
  const double per_second =
      static_cast<double>(iteration - display_iter_) / (seconds > 0 ? seconds : 1);
  // The loss is the mean over the ranks, but the outputs are those of this rank's batch.
  std::ostringstream of_ranks;
  if (ranks > 1) {
    of_ranks << " (mean of " << ranks << " ranks, "
             << per_second * static_cast<double>(run_->SamplesPerIteration())
             << " images/s in total)";
  }
  LOG(INFO) << "Iteration " << iteration << " (" << per_second << " iter/s, " << seconds << "s/"
            << run_->spec.param.display() << " iters), loss = " << smoothed_loss << of_ranks.str();
  shown_ = ReadOutputs(*net_);
  LogOutputs("Train", shown_, ranks > 1 ? " (rank " + std::to_string(run_->rank()) + ")" : "");
  display_time_ = Clock::now();
  display_iter_ = iteration;
}

void IterationLog::Report(double loss, double smoothed_loss, double rate) {
  const double wait = WaitSeconds(*net_);
  if (run_->options.on_iteration) {
    Progress progress;
    progress.iteration = run_->iteration;
    progress.max_iter = run_->schedule.max_iter;
    const Schedule& schedule = run_->schedule;
    if (run_->spec.param.max_epoch() > 0 && schedule.epoch_samples > 0) {
      progress.max_epoch = run_->spec.param.max_epoch();
      progress.epoch =
          static_cast<double>(run_->samples_seen) / static_cast<double>(schedule.epoch_samples);
    }
    progress.loss = loss;
    progress.smoothed_loss = smoothed_loss;
    progress.rate = rate;
    progress.seconds = SecondsSince(begun_);
    progress.images = run_->SamplesPerIteration();
    if (progress.seconds > 0)
      progress.images_per_second = static_cast<double>(progress.images) / progress.seconds;
    progress.data_wait_seconds = wait - wait_seconds_;
    if (!shown_.empty()) progress.outputs = &shown_;
    run_->options.on_iteration(progress);
  }
  shown_.clear();
  wait_seconds_ = wait;
}

}  // namespace doppio

// The passes of an iteration, forward and backward of iter_size batches, and their losses. Until
// the update begins, the net can go back to the beginning of the iteration.
#ifndef DOPPIO_SOLVERS_TRAINER_PASSES_H_
#define DOPPIO_SOLVERS_TRAINER_PASSES_H_

#include <deque>
#include <vector>

#include "core/net/run/net.h"
#include "solvers/state/run_state.h"
#include "solvers/trainer/training_run.h"

namespace doppio {

// Mean loss of the last `average_loss` iterations, as log lines show it. The losses are stored as
// float and summed from the oldest to the newest, so that a resumed run shows the same numbers.
class SmoothedLoss {
 public:
  explicit SmoothedLoss(int window = 1) : window_(static_cast<size_t>(window)) {}

  // Adds the loss of one iteration and drops the oldest loss when the window is full.
  void Add(double loss) {
    recent_.push_back(static_cast<float>(loss));
    if (recent_.size() > window_) recent_.pop_front();
  }
  // Returns the mean of the losses in the window, or 0 if there are none.
  double value() const {
    double sum = 0;
    for (float loss : recent_) sum += loss;
    return recent_.empty() ? 0 : sum / static_cast<double>(recent_.size());
  }
  const std::deque<float>& recent() const { return recent_; }  // oldest first

 private:
  size_t window_;
  std::deque<float> recent_;
};

// An iteration is Begin, then Forward and Backward for each pass, MeanLoss and AddLoss. Not
// thread-safe.
class Passes {
 public:
  // `run` and the train net must outlive this object.
  Passes(TrainingRun* run, Net* net)
      : run_(run), net_(net), smoothed_(run->spec.param.average_loss()) {}

  void Begin();
  // Starts forward. Does not wait for an asynchronous device.
  void Forward();
  // Starts backward of pass `pass` of the iteration and the loading of the next batch. If another
  // pass follows, blocks until this one has its loss.
  void Backward(int pass, GradientSink* sink);
  // Returns the mean loss of this rank's passes. Blocks until the last pass has its loss.
  double MeanLoss();
  // Replaces `*loss` by the mean over all ranks and adds it to the smoothed loss. Collective.
  void AddLoss(double* loss);
  // Runs forward alone and adds its loss as AddLoss does. Returns the mean over all ranks. With
  // test_last, leaves the running statistics as they were. Collective.
  double LossOfNextBatch();

  // Undoes the passes of an incomplete iteration: moves the net to the data at which it began, and
  // in an elastic training restores the running statistics. Layers that carry state start new
  // sequences. Must not be called after the update has begun.
  void GoBack();

  SmoothedLoss& smoothed() { return smoothed_; }

 private:
  void SaveStatistics();
  void RestoreStatistics() const;

  TrainingRun* const run_;
  Net* const net_;
  NetPosition start_;             // of the net before this iteration
  std::vector<char> statistics_;  // the running statistics then, or empty
  double loss_ = 0;               // sum over all passes of this iteration but the last
  SmoothedLoss smoothed_;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_PASSES_H_

// Mean loss of the last `average_loss` iterations, as log lines show it. The losses are stored as
// float and summed from the oldest to the newest, so that a resumed run shows the same numbers.
#ifndef DOPPIO_SOLVERS_TRAINER_SMOOTHED_LOSS_H_
#define DOPPIO_SOLVERS_TRAINER_SMOOTHED_LOSS_H_

#include <cstddef>
#include <deque>

namespace doppio {

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

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_SMOOTHED_LOSS_H_

// Shows a running training to the user. On a terminal, that is one line at the bottom that is
// redrawn, and one permanent line above it for each test. If standard error is not a terminal, the
// trainer's log lines show the same numbers.
#ifndef DOPPIO_TOOLS_TRAIN_PROGRESS_H_
#define DOPPIO_TOOLS_TRAIN_PROGRESS_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/gpu_watch.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/terminal.h"

namespace doppio {

// Returns the progress line: "▕████      ▏ 6120/450000  loss 3.912  2 410 img/s  ETA 13 h 06 m  lr
// 0.1  data wait 2 %  GPU 97 % 61 °C 540 W". With max_epoch, "epoch 3.2/15" follows the iteration.
// If the line is wider than the terminal, its last parts are left out. `seconds_per_iteration` is 0
// if it is not known yet; `data_wait_share` is in [0, 1].
std::string ProgressText(const Progress& progress, double images_per_second,
                         double seconds_per_iteration, double data_wait_share,
                         const Terminal& terminal, const GpuReading& gpu = GpuReading());

// Draws the progress line on standard error. Not thread-safe.
class ProgressLine {
 public:
  explicit ProgressLine(const Terminal& terminal) : terminal_(terminal) {}
  ~ProgressLine() { Clear(); }

  // Updates the line after an iteration. Redraws at most every 0.1 seconds.
  void Iteration(const Progress& progress, const GpuReading& gpu = GpuReading());
  // Prints a permanent line with the scores of a complete test.
  void Test(const TestScores& scores);
  // Removes the line so that other output can be printed.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;

  Terminal terminal_;
  bool drawn_ = false;
  bool started_ = false;
  Clock::time_point last_drawn_, last_iteration_;
  // Exponential moving averages over about the last 50 iterations.
  double seconds_ = 0, images_ = 0, wait_ = 0;
};

// Watches the GPU, too, because the progress line shows its numbers. Not thread-safe.
class TrainingDisplay {
 public:
  // Draws a progress line on `terminal`. From now on, the log shows only warnings there.
  void UseTerminal(const Terminal& terminal);
  // Adds the callbacks that draw the progress line, if there is one. This object must outlive the
  // trainer.
  void AddTo(TrainerOptions* options);
  // Begins to watch the device, if it is a GPU.
  void Watch(const Device& device);
  // Log the texts and, if a terminal does not show the log, print them. Ignore "".
  void Tell(const std::string& text) const;
  void Tell(const std::vector<std::string>& texts) const;
  // Removes the progress line so that other output can be printed.
  void Clear();

  bool on_terminal() const { return progress_ != nullptr; }
  // Returns the statistics of the watched GPU; nothing if none is watched.
  std::optional<GpuSummary> gpu() const;

 private:
  std::unique_ptr<ProgressLine> progress_;  // null if the progress is logged
  std::unique_ptr<GpuWatch> watch_;         // null before Watch() and without a GPU
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_PROGRESS_H_

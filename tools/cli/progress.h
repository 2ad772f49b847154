// Training as a person sees it: one line at the bottom of the terminal that is redrawn, and above
// it a line for each test. Where standard error is not a terminal, the trainer's log lines say the
// same and this is not used.
#ifndef DOPPIO_TOOLS_CLI_PROGRESS_H_
#define DOPPIO_TOOLS_CLI_PROGRESS_H_

#include <chrono>
#include <optional>
#include <string>

#include "core/device/nvml.h"
#include "solvers/trainer/trainer.h"

namespace doppio {

// What the terminal can show.
struct Terminal {
  int columns = 80;
  bool utf8 = false;
};

// Of standard error; nothing when it is no terminal, or one that cannot move its cursor
// (TERM=dumb).
std::optional<Terminal> FindTerminal();

// "▕████      ▏ 6120/450000  loss 3.912  2 410 img/s  ETA 13 h 06 m  lr 0.1  data wait 2 %  GPU 97
// % 61 °C 540 W", no longer than the terminal is wide: what does not fit is left out from the end.
// `seconds_per_iteration` 0: not known yet.
std::string ProgressText(const Progress& progress, double images_per_second,
                         double seconds_per_iteration, double data_wait_share,
                         const Terminal& terminal, const GpuReading& gpu = GpuReading());

class ProgressLine {
 public:
  explicit ProgressLine(const Terminal& terminal) : terminal_(terminal) {}
  ~ProgressLine() { Clear(); }

  void Iteration(const Progress& progress, const GpuReading& gpu = GpuReading());
  void Test(const TestScores& scores);
  // Removes the line, so that something else can be printed.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;

  Terminal terminal_;
  bool drawn_ = false;
  bool started_ = false;
  Clock::time_point last_drawn_, last_iteration_;
  // Moving averages over about the last fifty iterations.
  double seconds_ = 0, images_ = 0, wait_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_PROGRESS_H_

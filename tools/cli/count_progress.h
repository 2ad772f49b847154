// How far a command has come that goes through many files: a line that is redrawn on a terminal,
// elsewhere a log line every 10 seconds and at the end, worded as Caffe's.
#ifndef DOPPIO_TOOLS_CLI_COUNT_PROGRESS_H_
#define DOPPIO_TOOLS_CLI_COUNT_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace doppio {

class CountProgress {
 public:
  // `things`: "files".
  CountProgress(int64_t total, const std::string& things);
  // Removes the line.
  ~CountProgress();
  CountProgress(const CountProgress&) = delete;
  CountProgress& operator=(const CountProgress&) = delete;

  void Done(int64_t count);  // so many of them by now

 private:
  using Clock = std::chrono::steady_clock;

  const int64_t total_;
  const std::string things_;
  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_COUNT_PROGRESS_H_

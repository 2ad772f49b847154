// Shows the progress of a command that processes many items. On a terminal it redraws one line;
// otherwise it logs a line every 10 seconds and one at the end, in Caffe's wording.
#ifndef DOPPIO_TOOLS_DATA_COUNT_PROGRESS_H_
#define DOPPIO_TOOLS_DATA_COUNT_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace doppio {

class CountProgress {
 public:
  // `total` is the number of items. `things` is their plural for the messages, such as "files".
  CountProgress(int64_t total, const std::string& things);
  // Removes the progress line from the terminal.
  ~CountProgress();
  CountProgress(const CountProgress&) = delete;
  CountProgress& operator=(const CountProgress&) = delete;

  // Reports that `count` items are done so far.
  void Done(int64_t count);

 private:
  using Clock = std::chrono::steady_clock;

  const int64_t total_;
  const std::string things_;
  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_COUNT_PROGRESS_H_

#include "tools/data/count_progress.h"

#include <iostream>

#include "core/base/log.h"
#include "tools/cli/terminal.h"
#include "tools/cli/text_table.h"

namespace doppio {
namespace {

constexpr double kLogSeconds = 10;
constexpr double kRedrawSeconds = 0.1;

}  // namespace

CountProgress::CountProgress(int64_t total, const std::string& things)
    : total_(total), things_(things), terminal_(FindTerminal().has_value()) {}

CountProgress::~CountProgress() {
  if (terminal_ && shown_ != start_) std::cerr << "\r\033[K" << std::flush;
}

void CountProgress::Done(int64_t count) {
  const Clock::time_point now = Clock::now();
  const bool due = std::chrono::duration<double>(now - shown_).count() >=
                   (terminal_ ? kRedrawSeconds : kLogSeconds);
  if (!due && (terminal_ || count < total_)) return;
  shown_ = now;
  if (!terminal_) {
    LOG(INFO) << "Processed " << count
              << (count < total_ ? " of " + std::to_string(total_) + " " : " ") << things_ << '.';
    return;
  }
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(count) / seconds;
  std::cerr << "\r\033[K" << Thousands(count) << " of " << Thousands(total_) << ' ' << things_
            << ", " << Thousands(static_cast<int64_t>(rate)) << " a second, "
            << Duration(static_cast<double>(total_ - count) / rate) << " to go" << std::flush;
}

}  // namespace doppio

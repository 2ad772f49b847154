#include "tools/count_progress.h"

#include <iostream>

#include "core/base/log.h"
#include "tools/progress.h"
#include "tools/text_table.h"

namespace doppio {
namespace {

constexpr int64_t kLogged = 1000;
constexpr double kRedrawSeconds = 0.1;

}  // namespace

CountProgress::CountProgress(int64_t total, const std::string& things)
    : total_(total), things_(things), terminal_(FindTerminal().has_value()) {}

CountProgress::~CountProgress() {
  if (drawn_ != start_) std::cerr << "\r\033[K" << std::flush;
}

void CountProgress::Done(int64_t count) {
  if (!terminal_) {
    if (count / kLogged == logged_ / kLogged && count < total_) return;
    logged_ = count;
    LOG(INFO) << "Processed " << count << ' ' << things_ << '.';
    return;
  }
  const Clock::time_point now = Clock::now();
  if (std::chrono::duration<double>(now - drawn_).count() < kRedrawSeconds) return;
  drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(count) / seconds;
  std::cerr << "\r\033[K" << Thousands(count) << " of " << Thousands(total_) << ' ' << things_
            << ", " << Thousands(static_cast<int64_t>(rate)) << " a second, "
            << Duration(static_cast<double>(total_ - count) / rate) << " to go" << std::flush;
}

}  // namespace doppio

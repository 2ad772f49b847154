#include "tools/train/progress.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iostream>

#include "core/base/log.h"
#include "tools/cli/text_table.h"
#include "tools/gpus/gpu_readings.h"
#include "tools/train/training_end.h"

namespace doppio {
namespace {

constexpr double kRedrawLineSeconds = 0.1;
constexpr double kForget = 0.02;

std::string Bar(double share, int width, bool utf8) {
  std::string bar = utf8 ? "▕" : "[";
  const int full = static_cast<int>(share * width);
  for (int i = 0; i < width; ++i) bar += i < full ? (utf8 ? "█" : "#") : " ";
  return bar + (utf8 ? "▏" : "]");
}

std::string Short(double value) { return Significant(value, 4); }

}  // namespace

std::string ProgressText(const Progress& progress, double images_per_second,
                         double seconds_per_iteration, double data_wait_share,
                         const Terminal& terminal, const GpuReading& gpu) {
  const double share = progress.max_iter > 0 ? static_cast<double>(progress.iteration) /
                                                   static_cast<double>(progress.max_iter)
                                             : 0;
  std::vector<std::string> parts;
  parts.push_back(std::to_string(progress.iteration) + "/" + std::to_string(progress.max_iter));
  if (progress.max_epoch > 0) {
    // The last batch may begin the next epoch.
    const double epoch = std::min(progress.epoch, static_cast<double>(progress.max_epoch));
    parts.push_back("epoch " + Fixed(epoch, 1) + "/" + std::to_string(progress.max_epoch));
  }
  parts.push_back("loss " + Short(progress.smoothed_loss));
  if (images_per_second > 0) {
    parts.push_back(Thousands(std::llround(images_per_second)) + " img/s");
  }
  if (seconds_per_iteration > 0) {
    const double left = static_cast<double>(progress.max_iter - progress.iteration);
    parts.push_back("ETA " + Duration(left * seconds_per_iteration));
  }
  parts.push_back("lr " + Short(progress.rate));
  parts.push_back("data wait " + Fixed(100 * data_wait_share, 0) + " %");
  const std::string watched = ShortText(gpu, terminal.utf8);
  if (!watched.empty()) parts.push_back(watched);
  const size_t width = std::max(20, terminal.columns - 1);
  // The bar's width does not depend on the iteration, so that the line does not jump.
  const int bar = terminal.columns < 70 ? 0 : terminal.columns < 110 ? 12 : 30;
  std::string text = bar > 0 ? Bar(share, bar, terminal.utf8) : "";
  for (const std::string& part : parts) {
    const std::string gap = text.empty() ? "" : &part == &parts[0] ? " " : "  ";
    if (DisplayWidth(text) + gap.size() + DisplayWidth(part) > width) break;
    text += gap + part;
  }
  return text;
}

void ProgressLine::Iteration(const Progress& progress, const GpuReading& gpu) {
  const Clock::time_point now = Clock::now();
  auto seconds_since = [now](Clock::time_point then) {
    return std::chrono::duration<double>(now - then).count();
  };
  if (started_) {
    const double seconds = std::max(1e-9, seconds_since(last_iteration_));
    const double keep = seconds_ == 0 ? 0 : 1 - kForget;
    seconds_ = keep * seconds_ + (1 - keep) * seconds;
    images_ = keep * images_ + (1 - keep) * progress.images_per_second;
    wait_ = keep * wait_ + (1 - keep) * std::min(1.0, progress.data_wait_seconds / seconds);
  }
  last_iteration_ = now;
  const bool last = progress.iteration >= progress.max_iter;
  if (started_ && !last && drawn_ && seconds_since(last_drawn_) < kRedrawLineSeconds) return;
  started_ = true;
  last_drawn_ = now;
  drawn_ = true;
  std::cerr << "\r\033[K" << ProgressText(progress, images_, seconds_, wait_, terminal_, gpu)
            << std::flush;
}

void ProgressLine::Test(const TestScores& scores) {
  Clear();
  if (!scores.complete) return;
  char clock[16];
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &local));
  std::cerr << clock << " iter " << scores.iteration << "   test #" << scores.net;
  constexpr size_t kShown = 8;
  for (size_t i = 0; i < std::min(kShown, scores.scores.size()); ++i) {
    std::cerr << "  " << scores.scores[i].blob << ' ' << Short(scores.scores[i].value);
  }
  if (scores.scores.size() > kShown) std::cerr << "  …";
  std::cerr << std::endl;
}

void ProgressLine::Clear() {
  if (drawn_) std::cerr << "\r\033[K" << std::flush;
  drawn_ = false;
}

void TrainingDisplay::UseTerminal(const Terminal& terminal) {
  ShowOnlyWarnings();
  progress_ = std::make_unique<ProgressLine>(terminal);
}

void TrainingDisplay::AddTo(TrainerOptions* options) {
  if (!on_terminal()) return;
  options->on_iteration = [this](const Progress& p) {
    progress_->Iteration(p, watch_ == nullptr ? GpuReading() : watch_->Latest());
  };
  options->on_test = [this](const TestScores& scores) { progress_->Test(scores); };
}

void TrainingDisplay::Watch(const Device& device) { watch_ = WatchGpu(device); }

void TrainingDisplay::Tell(const std::string& text) const {
  if (!text.empty()) PrintNotice(on_terminal(), text);
}

void TrainingDisplay::Tell(const std::vector<std::string>& texts) const {
  for (const std::string& text : texts) Tell(text);
}

void TrainingDisplay::Clear() {
  if (on_terminal()) progress_->Clear();
}

std::optional<GpuSummary> TrainingDisplay::gpu() const {
  return watch_ == nullptr ? std::nullopt : std::optional(watch_->Summary());
}

}  // namespace doppio

#include "tools/timing/trace.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/host_name.h"
#include "core/base/log.h"
#include "core/base/text/whole_number.h"
#include "parallel/meeting/texts.h"
#include "tools/cli/flags.h"
#include "tools/cli/text_table.h"

namespace doppio {
namespace {

constexpr int64_t kFirstTraced = 10, kLastTraced = 20;  // iterations after the start

// Does not touch the file: an older timeline must remain until the new one is complete.
void CheckWritableFile(const std::string& file) {
  const std::string start = "cannot write the timeline '" + file + "': ";
  const std::string folder = DirName(file).empty() ? "." : DirName(file);
  struct stat info;
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    throw FileError(start, "there is no folder '", folder, "'");
  const std::string reason = WhyNotWritable(file);
  if (!reason.empty())
    throw FileError(start, "folder '", folder, "' is not writable (", reason, ")");
  if (EndsWith(file, "/") || (stat(file.c_str(), &info) == 0 && S_ISDIR(info.st_mode)))
    throw FileError(start, "it is a folder");
}

bool Holds(const std::pair<int64_t, int64_t>& window, int64_t iteration) {
  return window.first <= iteration && iteration <= window.second;
}

std::string Iterations(int64_t count) {
  return std::to_string(count) + (count == 1 ? " iteration" : " iterations");
}

// Estimates the offset between this rank's clock and rank 0's. In each round every rank records the
// time between two barriers. Rank 0 also records a time before the first and after the second
// barrier, so that its clock was between these two when the other rank's clock showed the recorded
// time. Each round therefore narrows the interval of possible offsets. If the interval contains 0,
// the ranks are assumed to share a clock, as the ranks of one machine do.
RankClock AlignClocks(const World* world) {
  RankClock clock;
  clock.start = MonotonicNs();
  if (world == nullptr) return clock;
  constexpr int kRounds = 20;
  Communicator& control = world->control();
  int64_t times[2 * kRounds + 1], own[kRounds];
  times[2 * kRounds] = clock.start;
  for (int i = 0; i < kRounds; ++i) {
    times[2 * i] = MonotonicNs();
    control.Barrier();
    own[i] = MonotonicNs();
    control.Barrier();
    times[2 * i + 1] = MonotonicNs();
  }
  control.Broadcast(times, sizeof times, 0);
  clock.start = times[2 * kRounds];
  int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kRounds; ++i) {
    least = std::max(least, times[2 * i] - own[i]);
    most = std::min(most, times[2 * i + 1] - own[i]);
  }
  const bool same = least <= 0 && most >= 0;
  clock.shift = same ? 0 : least + (most - least) / 2;
  clock.error = same ? 0 : (most - least) / 2;
  return clock;
}

}  // namespace

std::optional<TraceRequest> TraceRequestOf(const TraceOptions& options) {
  if (options.trace.empty()) {
    if (!options.trace_iterations.empty())
      throw UsageError("--trace_iterations needs --trace=FILE");
    return std::nullopt;
  }
  TraceRequest request{options.trace, std::nullopt};
  if (options.trace_iterations.empty()) return request;
  const std::string& value = options.trace_iterations;
  const size_t dash = value.find('-');
  const std::optional<int64_t> first = ParseWholeNumber(value.substr(0, dash));
  const std::optional<int64_t> last = ParseWholeNumber(value.substr(dash + 1));
  if (dash == std::string::npos || !first || !last)
    throw UsageError("--trace_iterations needs FIRST-LAST, such as 100-110; got '", value, "'");
  if (*first > *last)
    throw UsageError("--trace_iterations=", value, ": the first iteration comes after the last");
  request.iterations = {*first, *last};
  return request;
}

std::pair<int64_t, int64_t> WindowOf(const TraceRequest& request, int64_t start, int64_t max_iter) {
  if (request.iterations) {
    return {std::max(start, request.iterations->first),
            std::min(max_iter - 1, request.iterations->second)};
  }
  const int64_t last = std::min(start + kLastTraced, max_iter - 1);
  return {std::max(start, last - (kLastTraced - kFirstTraced)), last};
}

TrainingTrace::TrainingTrace(const std::optional<TraceRequest>& request,
                             std::function<void(const nlohmann::json&)> on_layers,
                             const World* world, Device* device)
    : request_(request),
      layers_{std::move(on_layers), std::nullopt},
      world_(world),
      device_(device),
      trace_(device) {
  summary_.exchanges = world != nullptr;
  if (!request_) return;
  summary_.file = request_->file;
  if (rank() == 0) CheckWritableFile(request_->file);
}

void TrainingTrace::AddTo(TrainerOptions* options) {
  options->trace = &trace_;
  options->before_iteration = [this](int64_t iteration) { Before(iteration); };
}

void TrainingTrace::Plan(Trainer* trainer) {
  const int64_t start = trainer->iteration(), max_iter = trainer->parts().run.schedule.max_iter;
  if (layers_.report) {
    layers_.times.emplace(trainer->train_net());
    layers_.window = LayerTimes::WindowOf(start, max_iter);
  }
  if (!request_) return;
  window_ = WindowOf(*request_, start, max_iter);
  summary_.first = window_.first;
  if (window_.first <= window_.second || !request_->iterations) return;
  LOG(WARNING) << "--trace_iterations=" << request_->iterations->first << "-"
               << request_->iterations->second << ": the training runs only iterations " << start
               << " to " << max_iter - 1 << "; nothing will be traced";
}

void TimedLayers::Add(int64_t iteration, const std::vector<TimelineSpan>& spans) {
  if (Holds(window, iteration)) times->Add(spans);
}

void TimedLayers::Report() {
  if (report && !times->empty()) report(times->Json());
  report = nullptr;
}

void TrainingTrace::Before(int64_t iteration) {
  TakeLayers();
  if (iteration > layers_.window.second) layers_.Report();
  if (iteration > window_.second && summary_.iterations > 0 && !written_) Write();
  if (Holds(window_, iteration) && summary_.iterations++ == 0) clock_ = AlignClocks(world_);
  const bool shown = Holds(window_, iteration) || Holds(layers_.window, iteration);
  if (shown && !trace_.on()) trace_.Start();
  if (!shown) trace_.Stop();
  before_ = iteration;
}

// Takes the spans of the previous iteration. Spans of later iterations remain in trace_ until
// Write().
void TrainingTrace::TakeLayers() {
  if (!layers_.report) return;
  std::vector<TimelineSpan> spans = trace_.Take();
  layers_.Add(before_, spans);
  if (Holds(window_, before_)) std::move(spans.begin(), spans.end(), std::back_inserter(spans_));
}

void TrainingTrace::Write() {
  trace_.Stop();
  written_ = true;
  std::vector<TimelineSpan> spans = std::move(spans_);
  const std::vector<TimelineSpan> later = trace_.Take();
  spans.insert(spans.end(), later.begin(), later.end());
  std::vector<TimelineSpan> exchanges, waits;
  int64_t waited = 0;
  for (const TimelineSpan& span : spans) {
    if (span.category == std::string(RunTrace::kExchanges)) exchanges.push_back(span);
    if (span.category != std::string(RunTrace::kExposed)) continue;
    waits.push_back(span);
    waited += span.end - span.begin;
  }
  const TimelineOverlap overlap = OverlapOf(exchanges, waits);
  const double mean = 1e-6 / static_cast<double>(summary_.iterations * ranks());
  double numbers[] = {mean * static_cast<double>(overlap.all),
                      mean * static_cast<double>(overlap.both), mean * static_cast<double>(waited),
                      static_cast<double>(trace_.dropped())};
  std::vector<double> errors(ranks());
  errors[rank()] = static_cast<double>(clock_.error);

  TimelineProcess process;
  process.rank = rank();
  process.name = "rank " + std::to_string(rank()) + " on " + HostName() + ", " + device_->name();
  process.tracks = RunTrace::TrackNames();
  process.shift_ns = clock_.shift - clock_.start;
  std::vector<std::string> events = {TimelineEvents(process, spans)};
  if (world_ != nullptr) {
    world_->control().AllReduce(numbers, 4, DType::kFloat64);
    world_->control().AllReduce(errors.data(), ranks(), DType::kFloat64);
    for (int other = 1; other < ranks(); ++other) {
      std::string gathered =
          BroadcastText(&world_->control(), rank() == other ? events[0] : "", other);
      if (rank() == 0) events.push_back(std::move(gathered));
    }
  }
  summary_.exchange_ms = numbers[0];
  summary_.exposed_ms = numbers[1];
  summary_.waited_ms = numbers[2];
  summary_.dropped = static_cast<int64_t>(numbers[3]);
  summary_.clock_error_ns = static_cast<int64_t>(*std::max_element(errors.begin(), errors.end()));
  if (rank() != 0) return;
  const std::string last = std::to_string(window_.first + summary_.iterations - 1);
  try {
    WriteFileAtomically(
        request_->file,
        TimelineFile(events, {{"program", "doppio train"},
                              {"iterations", std::to_string(window_.first) + "-" + last},
                              {"clock_error_us",
                               Fixed(1e-3 * static_cast<double>(summary_.clock_error_ns), 1)},
                              {"spans_left_out", std::to_string(summary_.dropped)}}));
  } catch (const FileError& e) {
    // Reported at the end; the training must not fail because of its timeline.
    summary_.failure = e.what();
  }
}

void TrainingTrace::End() {
  TakeLayers();
  layers_.Report();
  if (summary_.iterations > 0 && !written_) Write();
}

std::string TraceSummary::Text() const {
  if (iterations == 0)
    return "timeline: nothing was traced, because none of the iterations to trace was run";
  if (!failure.empty()) return "timeline: " + failure;
  std::string text = "timeline: " + file + " (" + Iterations(iterations);
  if (exchanges) {
    const double hidden = exchange_ms > 0 ? 1 - exposed_ms / exchange_ms : 1;
    text += "; exchange " + Fixed(exchange_ms, 2) + " ms per iteration, exposed " +
            Fixed(exposed_ms, 2) + " ms, hidden " + Fixed(100 * hidden, 0) + " %";
  }
  if (dropped > 0)
    text += "; " + std::to_string(dropped) + " spans did not fit; trace fewer iterations";
  return text + ")";
}

nlohmann::json TraceSummary::Json() const {
  nlohmann::json json{{"file", file}, {"iterations", failure.empty() ? iterations : 0}};
  if (!failure.empty()) json["failure"] = failure;
  if (json["iterations"] == 0) return json;
  json["first"] = first;
  json["spans_left_out"] = dropped;
  if (!exchanges) return json;
  json["exchange_ms"] = exchange_ms;
  json["exposed_ms"] = exposed_ms;
  json["hidden_ms"] = exchange_ms - exposed_ms;
  json["waited_ms"] = waited_ms;
  json["clock_error_us"] = 1e-3 * static_cast<double>(clock_error_ns);
  return json;
}

}  // namespace doppio

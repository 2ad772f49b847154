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

TrainingTrace::TrainingTrace(std::optional<TraceRequest> request,
                             std::function<void(const nlohmann::json&)> on_layers,
                             const World* world, Device* device)
    : request_(std::move(request)),
      on_layers_(std::move(on_layers)),
      world_(world),
      device_(device),
      trace_(device) {
  if (request_ && rank() == 0) CheckWritableFile(request_->file);
}

void TrainingTrace::AddTo(TrainerOptions* options) {
  options->trace = &trace_;
  options->before_iteration = [this](int64_t iteration) { Before(iteration); };
}

void TrainingTrace::Plan(Trainer* trainer) {
  const int64_t start = trainer->iteration(), max_iter = trainer->parts().run.schedule.max_iter;
  if (on_layers_) {
    layers_.emplace(trainer->train_net());
    layers_window_ = LayerTimes::WindowOf(start, max_iter);
  }
  if (!request_) return;
  window_ = WindowOf(*request_, start, max_iter);
  if (window_.first <= window_.second || !request_->iterations) return;
  LOG(WARNING) << "--trace_iterations=" << request_->iterations->first << "-"
               << request_->iterations->second << ": the training runs only iterations " << start
               << " to " << max_iter - 1 << "; nothing will be traced";
}

void TrainingTrace::Before(int64_t iteration) {
  TakeLayers();
  if (iteration > layers_window_.second) ReportLayers();
  if (iteration > window_.second && begun_ > 0 && !written_) Write();
  if (Holds(window_, iteration) && begun_++ == 0) AlignClocks();
  const bool shown = Holds(window_, iteration) || Holds(layers_window_, iteration);
  if (shown && !trace_.on()) trace_.Start();
  if (!shown) trace_.Stop();
  before_ = iteration;
}

// Takes the spans of the previous iteration. Spans of later iterations remain in trace_ until
// Write().
void TrainingTrace::TakeLayers() {
  if (!on_layers_) return;
  std::vector<TimelineSpan> spans = trace_.Take();
  if (Holds(layers_window_, before_)) layers_->Add(spans);
  if (Holds(window_, before_)) std::move(spans.begin(), spans.end(), std::back_inserter(spans_));
}

void TrainingTrace::ReportLayers() {
  if (on_layers_ && !layers_->empty()) on_layers_(layers_->Json());
  on_layers_ = nullptr;
}

// Estimates the offset between this rank's clock and rank 0's. In each round every rank records the
// time between two barriers. Rank 0 also records a time before the first and after the second
// barrier, so that its clock was between these two when the other rank's clock showed the recorded
// time. Each round therefore narrows the interval of possible offsets. If the interval contains 0,
// the ranks are assumed to share a clock, as the ranks of one machine do.
void TrainingTrace::AlignClocks() {
  start_ns_ = MonotonicNs();
  if (world_ == nullptr) return;
  constexpr int kRounds = 20;
  Communicator& control = world_->control();
  int64_t times[2 * kRounds + 1], own[kRounds];
  times[2 * kRounds] = start_ns_;
  for (int i = 0; i < kRounds; ++i) {
    times[2 * i] = MonotonicNs();
    control.Barrier();
    own[i] = MonotonicNs();
    control.Barrier();
    times[2 * i + 1] = MonotonicNs();
  }
  control.Broadcast(times, sizeof times, 0);
  start_ns_ = times[2 * kRounds];
  int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kRounds; ++i) {
    least = std::max(least, times[2 * i] - own[i]);
    most = std::min(most, times[2 * i + 1] - own[i]);
  }
  const bool same = least <= 0 && most >= 0;
  shift_ns_ = same ? 0 : least + (most - least) / 2;
  clock_error_ns_ = same ? 0 : (most - least) / 2;
}

// On rank 0, returns `own` of rank `rank`. On other ranks the result is unspecified.
std::string TrainingTrace::GatherOn0(const std::string& own, int rank) const {
  int64_t bytes = static_cast<int64_t>(own.size());
  world_->control().Broadcast(&bytes, sizeof bytes, rank);
  std::string text = own;
  text.resize(bytes);
  world_->control().Broadcast(text.data(), bytes, rank);
  return text;
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
  const double mean = 1e-6 / static_cast<double>(begun_ * ranks());
  double numbers[] = {mean * static_cast<double>(overlap.all),
                      mean * static_cast<double>(overlap.both), mean * static_cast<double>(waited),
                      static_cast<double>(trace_.dropped())};
  std::vector<double> errors(ranks());
  errors[rank()] = static_cast<double>(clock_error_ns_);

  TimelineProcess process;
  process.rank = rank();
  process.name = "rank " + std::to_string(rank()) + " on " + HostName() + ", " + device_->name();
  process.tracks = RunTrace::TrackNames();
  process.shift_ns = shift_ns_ - start_ns_;
  std::vector<std::string> events = {TimelineEvents(process, spans)};
  if (world_ != nullptr) {
    world_->control().AllReduce(numbers, 4, DType::kFloat64);
    world_->control().AllReduce(errors.data(), ranks(), DType::kFloat64);
    for (int other = 1; other < ranks(); ++other) {
      std::string gathered = GatherOn0(rank() == other ? events[0] : "", other);
      if (rank() == 0) events.push_back(std::move(gathered));
    }
  }
  exchange_ms_ = numbers[0];
  exposed_ms_ = numbers[1];
  waited_ms_ = numbers[2];
  dropped_ = static_cast<int64_t>(numbers[3]);
  clock_error_ns_ = static_cast<int64_t>(*std::max_element(errors.begin(), errors.end()));
  if (rank() != 0) return;
  const std::string last = std::to_string(window_.first + begun_ - 1);
  try {
    WriteFileAtomically(
        request_->file,
        TimelineFile(events,
                     {{"program", "doppio train"},
                      {"iterations", std::to_string(window_.first) + "-" + last},
                      {"clock_error_us", Fixed(1e-3 * static_cast<double>(clock_error_ns_), 1)},
                      {"spans_left_out", std::to_string(dropped_)}}));
  } catch (const FileError& e) {
    failure_ = e.what();  // reported at the end; the training must not fail because of its timeline
  }
}

void TrainingTrace::End() {
  TakeLayers();
  ReportLayers();
  if (begun_ > 0 && !written_) Write();
}

std::string TrainingTrace::Text() const {
  if (begun_ == 0)
    return "timeline: nothing was traced, because none of the iterations to trace was run";
  if (!failure_.empty()) return "timeline: " + failure_;
  std::string text = "timeline: " + request_->file + " (" + Iterations(begun_);
  if (world_ != nullptr) {
    const double hidden = exchange_ms_ > 0 ? 1 - exposed_ms_ / exchange_ms_ : 1;
    text += "; exchange " + Fixed(exchange_ms_, 2) + " ms per iteration, exposed " +
            Fixed(exposed_ms_, 2) + " ms, hidden " + Fixed(100 * hidden, 0) + " %";
  }
  if (dropped_ > 0)
    text += "; " + std::to_string(dropped_) + " spans did not fit; trace fewer iterations";
  return text + ")";
}

nlohmann::json TrainingTrace::Json() const {
  nlohmann::json json{{"file", request_->file}, {"iterations", failure_.empty() ? begun_ : 0}};
  if (!failure_.empty()) json["failure"] = failure_;
  if (json["iterations"] == 0) return json;
  json["first"] = window_.first;
  json["spans_left_out"] = dropped_;
  if (world_ == nullptr) return json;
  json["exchange_ms"] = exchange_ms_;
  json["exposed_ms"] = exposed_ms_;
  json["hidden_ms"] = exchange_ms_ - exposed_ms_;
  json["waited_ms"] = waited_ms_;
  json["clock_error_us"] = 1e-3 * static_cast<double>(clock_error_ns_);
  return json;
}

}  // namespace doppio

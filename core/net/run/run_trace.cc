#include "core/net/run/run_trace.h"

#include <algorithm>

#include "core/base/clock.h"

namespace doppio {
namespace {

constexpr size_t kMaxSpans = 400'000;  // about 100 MB in memory and in the file

}  // namespace

std::vector<std::string> RunTrace::TrackNames() {
  return {"training", "GPU's computing stream", "exchange of gradients"};
}

RunTrace::RunTrace(Device* device)
    : device_(device), stream_(device->properties.asynchronous), timeline_(kMaxSpans) {}

void RunTrace::Start() {
  clock_ = MakeDeviceClock(device_);
  clock_->Start();
  on_ = true;
}

RunTrace::Started RunTrace::Begin(TraceOf of) {
  Started begun{of, MonotonicNs(), -1};
  if (stream_ && of != TraceOf::kHost) begun.mark = Mark();
  return begun;
}

void RunTrace::End(const Started& begun, const char* category, std::string name,
                   std::vector<std::pair<const char*, int64_t>> numbers) {
  const bool device = stream_ && (begun.of == TraceOf::kDevice || begun.of == TraceOf::kBoth);
  if (device) Record({{name, category, kStream, 0, 0, numbers}, begun.mark, Mark(), -1});
  if (device && begun.of == TraceOf::kDevice) return;
  Record({{std::move(name), category, kTraining, begun.at, MonotonicNs(), std::move(numbers)},
          -1,
          -1,
          begun.of == TraceOf::kWait ? begun.mark : -1});
}

void RunTrace::Add(TimelineSpan span, int mark) { Record({std::move(span), -1, -1, mark}); }

void RunTrace::Record(PendingSpan span) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (pending_.size() < kMaxSpans) {
    pending_.push_back(std::move(span));
  } else {
    ++dropped_;
  }
}

void RunTrace::CollectDeviceTimes() {
  if (!on()) return;
  const std::vector<int64_t> reached = clock_->Read();
  const auto at = [&](int mark) { return reached[mark]; };
  std::lock_guard<std::mutex> lock(mutex_);
  for (PendingSpan& each : pending_) {
    TimelineSpan& span = each.span;
    if (each.begin >= 0) span.begin = at(each.begin);
    if (each.end >= 0) span.end = at(each.end);
    if (each.not_before >= 0)
      span.begin = std::min(span.end, std::max(span.begin, at(each.not_before)));
    timeline_.Add(std::move(span));
  }
  pending_.clear();
}

int64_t RunTrace::dropped() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return dropped_ + timeline_.dropped();
}

}  // namespace doppio

#include "core/base/timeline.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/text/str_cat.h"

namespace doppio {
namespace {

std::string Quoted(const std::string& text) {
  using nlohmann::json;
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string Microseconds(int64_t ns) {
  char text[32];
  const int64_t size = ns < 0 ? -ns : ns;
  std::snprintf(text, sizeof text, "%s%lld.%03d", ns < 0 ? "-" : "",
                static_cast<long long>(size / 1000), static_cast<int>(size % 1000));
  return text;
}

// Returns the metadata events {"name":"thread_name",...} that give the viewer the name and the
// position of a process or a track.
std::string NameEvent(const char* what, int pid, int tid, const std::string& name) {
  const std::string track = ",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid);
  const int place = std::string(what) == "process" ? pid : tid;
  return StrCat("{\"ph\":\"M\",\"name\":\"", what, "_name\"", track,
                ",\"args\":{\"name\":", Quoted(name), "}},\n", "{\"ph\":\"M\",\"name\":\"", what,
                "_sort_index\"", track, ",\"args\":{\"sort_index\":", place, "}}");
}

std::string SpanEvent(const TimelineProcess& process, const TimelineSpan& span) {
  std::string event =
      StrCat("{\"ph\":\"X\",\"name\":", Quoted(span.name), ",\"cat\":", Quoted(span.category),
             ",\"pid\":", process.rank, ",\"tid\":", span.track,
             ",\"ts\":", Microseconds(span.begin + process.shift_ns),
             ",\"dur\":", Microseconds(span.end - span.begin));
  std::string numbers;
  for (const auto& [name, number] : span.numbers) {
    numbers += (numbers.empty() ? "" : ",") + Quoted(name) + ":" + std::to_string(number);
  }
  return event + (numbers.empty() ? "}" : ",\"args\":{" + numbers + "}}");
}

// Sorts the spans by track and time, outer spans before inner ones, and cuts off each span at the
// end of its enclosing span.
void Nest(std::vector<TimelineSpan>* spans) {
  std::stable_sort(spans->begin(), spans->end(), [](const TimelineSpan& a, const TimelineSpan& b) {
    if (a.track != b.track) return a.track < b.track;
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<const TimelineSpan*> open;
  for (TimelineSpan& span : *spans) {
    while (!open.empty() && (open.back()->track != span.track || open.back()->end <= span.begin))
      open.pop_back();
    if (!open.empty()) span.end = std::min(span.end, open.back()->end);
    open.push_back(&span);
  }
}

// [begin, end) in ns.
using Stretch = std::pair<int64_t, int64_t>;

// Returns the union of the spans as sorted, disjoint intervals.
std::vector<Stretch> Covered(const std::vector<TimelineSpan>& spans) {
  std::vector<Stretch> stretches, joined;
  for (const TimelineSpan& span : spans) stretches.emplace_back(span.begin, span.end);
  std::sort(stretches.begin(), stretches.end());
  for (const Stretch& stretch : stretches) {
    if (joined.empty() || joined.back().second < stretch.first) {
      joined.push_back(stretch);
    } else {
      joined.back().second = std::max(joined.back().second, stretch.second);
    }
  }
  return joined;
}

}  // namespace

void Timeline::Add(TimelineSpan span) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (spans_.size() >= max_spans_) {
    ++dropped_;
    return;
  }
  spans_.push_back(std::move(span));
}

std::vector<TimelineSpan> Timeline::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(spans_, {});
}

int64_t Timeline::dropped() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return dropped_;
}

std::string TimelineEvents(const TimelineProcess& process, std::vector<TimelineSpan> spans) {
  Nest(&spans);
  std::string events = NameEvent("process", process.rank, 0, process.name);
  for (size_t track = 0; track < process.tracks.size(); ++track) {
    const auto on_it = [track](const TimelineSpan& span) {
      return span.track == static_cast<int>(track);
    };
    if (std::none_of(spans.begin(), spans.end(), on_it)) continue;
    events +=
        ",\n" + NameEvent("thread", process.rank, static_cast<int>(track), process.tracks[track]);
  }
  for (const TimelineSpan& span : spans) events += ",\n" + SpanEvent(process, span);
  return events;
}

std::string TimelineFile(const std::vector<std::string>& events,
                         const std::vector<std::pair<std::string, std::string>>& about) {
  std::string file = "{\"displayTimeUnit\":\"ms\",\"otherData\":{";
  for (size_t i = 0; i < about.size(); ++i)
    file += (i > 0 ? "," : "") + Quoted(about[i].first) + ":" + Quoted(about[i].second);
  file += "},\"traceEvents\":[\n";
  for (size_t i = 0; i < events.size(); ++i) file += (i > 0 ? ",\n" : "") + events[i];
  return file + "\n]}\n";
}

TimelineOverlap OverlapOf(const std::vector<TimelineSpan>& spans,
                          const std::vector<TimelineSpan>& others) {
  const std::vector<Stretch> a = Covered(spans), b = Covered(others);
  TimelineOverlap overlap;
  for (const Stretch& stretch : a) overlap.all += stretch.second - stretch.first;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    overlap.both +=
        std::max<int64_t>(0, std::min(a[i].second, b[j].second) - std::max(a[i].first, b[j].first));
    if (a[i].second < b[j].second) {
      ++i;
    } else {
      ++j;
    }
  }
  return overlap;
}

}  // namespace doppio

// Records spans of named work on the tracks of a rank, and writes them as JSON for Perfetto and
// chrome://tracing (Google, "Trace Event Format"). Times are those of MonotonicNs
// (core/base/clock.h).
#ifndef DOPPIO_CORE_BASE_TIMELINE_H_
#define DOPPIO_CORE_BASE_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace doppio {

struct TimelineSpan {
  std::string name;
  const char* category = "";  // must have static storage duration
  int track = 0;
  int64_t begin = 0, end = 0;                                 // in ns
  std::vector<std::pair<const char*, int64_t>> numbers = {};  // displayed with the span
};

// Stores at most `max_spans` spans. Thread-safe.
class Timeline {
 public:
  explicit Timeline(size_t max_spans) : max_spans_(max_spans) {}
  void Add(TimelineSpan span);
  // Returns the spans added since the last call and removes them.
  std::vector<TimelineSpan> Take();
  int64_t dropped() const;  // number of spans rejected because the timeline was full

 private:
  const size_t max_spans_;
  mutable std::mutex mutex_;
  std::vector<TimelineSpan> spans_;  // guarded by mutex_
  int64_t dropped_ = 0;              // guarded by mutex_
};

// Display settings of one rank.
struct TimelineProcess {
  int rank = 0;
  std::string name;
  std::vector<std::string> tracks;  // names by track number; tracks without spans are not shown
  int64_t shift_ns = 0;  // added to every time, to convert from this rank's clock to the file's
};

// Returns the events of one rank, separated by commas. The viewer requires the spans of a track to
// be nested or disjoint, so a span that outlasts its enclosing span is cut off there. Bytes that
// are not valid UTF-8 become U+FFFD.
std::string TimelineEvents(const TimelineProcess& process, std::vector<TimelineSpan> spans);

// Returns the complete file from the events of all ranks. `about` holds (name, text) pairs for the
// file's readers.
std::string TimelineFile(const std::vector<std::string>& events,
                         const std::vector<std::pair<std::string, std::string>>& about);

// Times in ns. `all`: at least one of `spans` is active. `both`: one of `others` is active as well.
struct TimelineOverlap {
  int64_t all = 0, both = 0;
};
TimelineOverlap OverlapOf(const std::vector<TimelineSpan>& spans,
                          const std::vector<TimelineSpan>& others);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_TIMELINE_H_

// What happened when: spans of named work on the tracks of one rank, and the JSON that Perfetto and
// chrome://tracing show (Google, "Trace Event Format"). Moments are nanoseconds of the machine's
// monotonic clock.
#ifndef DOPPIO_CORE_BASE_TIMELINE_H_
#define DOPPIO_CORE_BASE_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace doppio {

int64_t MonotonicNs();

struct TimelineSpan {
  std::string name;
  const char* category = "";  // lives as long as the program
  int track = 0;
  int64_t begin = 0, end = 0;                                 // ns
  std::vector<std::pair<const char*, int64_t>> numbers = {};  // shown with the span
};

// Keeps what it is given, from any thread, up to a bound.
class Timeline {
 public:
  explicit Timeline(size_t most) : most_(most) {}
  void Add(TimelineSpan span);
  std::vector<TimelineSpan> Take();  // all so far, which are forgotten
  int64_t dropped() const;           // that came when it was full

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  std::vector<TimelineSpan> spans_;  // guarded, as what follows
  int64_t dropped_ = 0;
};

// How one rank is shown.
struct TimelineProcess {
  int rank = 0;
  std::string name;
  std::vector<std::string> tracks;  // names; those without spans are left out
  int64_t shift_ns = 0;             // added to every moment: from this rank's clock to the file's
};

// The events of one rank, separated by commas. Spans of a track come out nested or apart: one that
// reaches over the end of the one that it began in is cut off there. Bytes that are no UTF-8 become
// U+FFFD.
std::string TimelineEvents(const TimelineProcess& process, std::vector<TimelineSpan> spans);

// The whole file, of the events of all ranks. `about` is text by name, for whoever reads the file.
std::string TimelineFile(const std::vector<std::string>& events,
                         const std::vector<std::pair<std::string, std::string>>& about);

// How long any of `spans` is under way, and how long at the same time one of `others` is. ns.
struct TimelineOverlap {
  int64_t all = 0, both = 0;
};
TimelineOverlap OverlapOf(const std::vector<TimelineSpan>& spans,
                          const std::vector<TimelineSpan>& others);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_TIMELINE_H_

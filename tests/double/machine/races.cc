#include "tests/double/machine/races.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>

#include "tests/double/machine/arena.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/touched_bytes.h"

namespace doppio::gpu_double {
namespace {

// An earlier access. It is dropped once a later access to the same bytes is ordered after it and
// conflicts with everything that it conflicts with: any access ordered after the later one is
// ordered after this one too.
struct Past {
  int actor = 0;
  int64_t time = 0;
  int who = 0, what = 0;  // names of the actor and of the step: indices in `names`
  bool writes = false;
  int64_t gap = 0;
  bool operator==(const Past& o) const {
    return actor == o.actor && time == o.time && what == o.what && writes == o.writes &&
           gap == o.gap;
  }
};

// Adjacent bytes with the same past.
struct Range {
  const char* end = nullptr;
  std::vector<Past> past;
};
using Ranges = std::map<const char*, Range>;

struct History {
  std::mutex mutex;
  std::vector<int> actors;  // current name of each actor: index in `names`
  std::vector<std::string> names;
  std::unordered_map<std::string, int> name_numbers;
  Ranges ranges;  // disjoint, by start address; other bytes have no past
};

History& TheHistory() {
  static History* const history = new History;
  return *history;
}

// Returns the index of a name in `names`.
int Number(History* history, const std::string& name) {
  const auto [found, added] = history->name_numbers.emplace(name, history->names.size());
  if (added) history->names.push_back(name);
  return found->second;
}

// Splits the range that contains `at`, if any. Returns the first range that begins at or after
// `at`.
Ranges::iterator Cut(Ranges* ranges, const char* at) {
  const auto behind = ranges->lower_bound(at);
  if (behind == ranges->begin()) return behind;
  Range& range = std::prev(behind)->second;
  if (range.end <= at) return behind;
  const auto cut = ranges->emplace_hint(behind, at, range);
  range.end = at;
  return cut;
}

bool Ordered(const Past& past, int actor, const Clock& before) {
  return past.actor == actor || before.Of(past.actor) >= past.time;
}

// Returns true if two accesses that share `bytes` adjacent bytes must have a byte in common.
bool Meet(const Past& a, const Past& b, int64_t bytes) {
  return (a.gap == 0 || b.gap == 0) && bytes > std::max(a.gap, b.gap);
}

std::string DescribeAccess(const History& history, const Past& past) {
  return history.names[past.what] + " on " + history.names[past.who] + " (step " +
         std::to_string(past.time) + ")";
}

// Checks an access for races with the past of `range`, and then adds the access to the past.
void Add(const History& history, const Past& now, const Clock& before, const char* begin,
         Range* range) {
  auto kept = range->past.begin();
  for (const Past& past : range->past) {
    const bool ordered = Ordered(past, now.actor, before);
    if (!ordered && (past.writes || now.writes) && Meet(past, now, range->end - begin)) {
      Fault("race", DescribeAccess(history, now) + (now.writes ? " writes " : " reads ") +
                        std::to_string(range->end - begin) + " bytes at " + Describe(begin) +
                        ", and nothing orders this after " + DescribeAccess(history, past) +
                        ", which " + (past.writes ? "writes" : "reads") + " them");
    }
    const bool covered = now.gap == 0 || past.gap > 0;
    if (!(ordered && covered && (now.writes || !past.writes))) *kept++ = past;
  }
  range->past.erase(kept, range->past.end());
  range->past.push_back(now);
}

// Merges adjacent ranges with the same past, from `it` up to ranges that begin at or before `end`.
void Join(Ranges* ranges, Ranges::iterator it, const char* end) {
  if (it != ranges->begin()) --it;
  while (it != ranges->end()) {
    const auto next = std::next(it);
    if (next == ranges->end() || next->first > end) return;
    if (it->second.end == next->first && it->second.past == next->second.past) {
      it->second.end = next->second.end;
      ranges->erase(next);
    } else {
      it = next;
    }
  }
}

void Note(History* history, const Past& now, const Clock& before, const char* begin,
          const char* end) {
  Ranges& ranges = history->ranges;
  Cut(&ranges, end);
  auto it = Cut(&ranges, begin);
  for (const char* at = begin; at < end;) {
    if (it == ranges.end() || it->first > at) {
      const char* const until = it == ranges.end() ? end : std::min(end, it->first);
      it = ranges.emplace_hint(it, at, Range{until, {}});
    }
    Add(*history, now, before, at, &it->second);
    at = it->second.end;
    ++it;
  }
  Join(&ranges, ranges.find(begin), end);
}

}  // namespace

int NewActor(const std::string& name) {
  History& history = TheHistory();
  const std::lock_guard<std::mutex> lock(history.mutex);
  history.actors.push_back(Number(&history, name));
  return static_cast<int>(history.actors.size()) - 1;
}

void RenameActor(int actor, const std::string& name) {
  History& history = TheHistory();
  const std::lock_guard<std::mutex> lock(history.mutex);
  history.actors[actor] = Number(&history, name);
}

void Clock::Join(const Clock& other) {
  const size_t count = other.times_.size();
  if (times_.size() < count) times_.resize(count);
  for (size_t i = 0; i < count; ++i) times_[i] = std::max(times_[i], other.times_[i]);
}

void Clock::Set(int actor, int64_t time) {
  const size_t index = static_cast<size_t>(actor);
  if (times_.size() <= index) times_.resize(index + 1);
  times_[index] = time;
}

int64_t Clock::Of(int actor) const {
  const size_t index = static_cast<size_t>(actor);
  return index < times_.size() ? times_[index] : 0;
}

void NoteAccesses(const std::string& what, int actor, int64_t time, const Clock& before,
                  const std::vector<Access>& accesses) {
  History& history = TheHistory();
  const std::lock_guard<std::mutex> lock(history.mutex);
  const int who = history.actors[actor], name = Number(&history, what);
  for (const Access& access : accesses) {
    int64_t offset = 0;
    if (access.bytes <= 0 || !InArena(access.at, &offset)) continue;
    const char* const begin = static_cast<const char*>(access.at);
    Note(&history, {actor, time, who, name, access.writes, access.gap}, before, begin,
         begin + access.bytes);
  }
}

void ForgetAccesses(const void* begin, int64_t bytes) {
  const char* const from = static_cast<const char*>(begin);
  {
    History& history = TheHistory();
    const std::lock_guard<std::mutex> lock(history.mutex);
    const auto end = Cut(&history.ranges, from + bytes);
    history.ranges.erase(Cut(&history.ranges, from), end);
  }
  ReleaseTouched(begin, bytes);
}

}  // namespace doppio::gpu_double

// The times after which another rank or process counts as failed. docs/parallel.md shows the same
// table; a test compares them.
#ifndef DOPPIO_PARALLEL_MEETING_LIMITS_H_
#define DOPPIO_PARALLEL_MEETING_LIMITS_H_

#include <cstddef>

namespace doppio {

enum class Limit {
  kSilence,
  kElasticSilence,
  kStall,
  kProbe,
  kRejoin,
  kHost,
  kRendezvous,
  kRequest,
  kWatchConnect,
  kConnect,
  kElasticConnect,
  kElasticIdle,
  kNccl,
  kLibraryEnd,
};

struct LimitRow {
  Limit limit;
  const char* name;    // in messages and in the table of docs/parallel.md
  double seconds;      // the default
  const char* set_by;  // a flag or an environment variable; "" if the limit is fixed

  // Returns what a user looks up: the flag or variable, or else the name.
  const char* label() const { return *set_by != '\0' ? set_by : name; }
};

inline constexpr LimitRow kLimits[] = {
    {Limit::kSilence, "silence", 20, "--silence_timeout"},
    {Limit::kElasticSilence, "elastic silence", 5, "--silence_timeout"},
    {Limit::kStall, "stall", 300, "--stall_timeout"},
    {Limit::kProbe, "probe", 3, ""},
    {Limit::kRejoin, "rejoin", 5, ""},
    {Limit::kHost, "host", 6, ""},
    {Limit::kRendezvous, "rendezvous", 180, "DOPPIO_RENDEZVOUS_TIMEOUT"},
    {Limit::kRequest, "request", 10, ""},
    {Limit::kWatchConnect, "watch connect", 7, ""},
    {Limit::kConnect, "connect", 60, ""},
    {Limit::kElasticConnect, "elastic connect", 10, ""},
    {Limit::kElasticIdle, "elastic idle", 20, ""},
    {Limit::kNccl, "NCCL", 180, "DOPPIO_NCCL_TIMEOUT"},
    {Limit::kLibraryEnd, "library end", 10, ""},
};

constexpr const LimitRow& RowOf(Limit limit) { return kLimits[static_cast<size_t>(limit)]; }

constexpr bool LimitsAreInOrder() {
  for (size_t i = 0; i < sizeof kLimits / sizeof *kLimits; ++i) {
    if (static_cast<size_t>(kLimits[i].limit) != i) return false;
  }
  return true;
}
static_assert(LimitsAreInOrder(), "the rows must have the order of the enumeration");

constexpr double DefaultSeconds(Limit limit) { return RowOf(limit).seconds; }

// Returns the value of the limit's environment variable if it is a positive number, else the
// default.
double SecondsFromEnvironment(Limit limit);

// A limit with its value in this run.
struct Timeout {
  Limit limit;
  double seconds;     // infinity: the limit does not apply
  double margin = 0;  // added before the limit takes effect, for reports that may be late
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MEETING_LIMITS_H_

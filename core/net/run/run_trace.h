// What one rank does during a few iterations, on a timeline: the training thread, the stream of a
// device that computes on its own time, and the exchange of gradients. Whoever has something to
// show is given a pointer, null where nobody asked.
//
//   Trace(trace, TraceOf::kBoth, "forward", "forward", [&] { net.StartForward(); });
#ifndef DOPPIO_CORE_NET_RUN_RUN_TRACE_H_
#define DOPPIO_CORE_NET_RUN_RUN_TRACE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/timeline.h"
#include "core/device/device_clock.h"

namespace doppio {

// Which times of a piece of work of the training thread are shown. On the CPU all are the same.
enum class TraceOf {
  kHost,    // the thread's
  kDevice,  // the device's
  kBoth,    // each on its track
  kWait,    // the thread's, but from when the device has done all that it was asked for: nothing is
            // computed meanwhile
};

class RunTrace {
 public:
  enum Track { kTraining, kStream, kExchange };
  static std::vector<std::string> TrackNames();
  // Categories that others look for: all-reduces of gradients and statistics, and the thread that
  // waits for other ranks.
  static constexpr const char* kExchanges = "exchange";
  static constexpr const char* kExposed = "exposed";
  // Spans of these have a number kLayer, the layer's index in the net, where they are of a step of
  // one layer.
  static constexpr const char* kForward = "forward";
  static constexpr const char* kBackward = "backward";
  static constexpr const char* kLayer = "layer";

  // `device` outlives the trace.
  explicit RunTrace(Device* device);

  // By the training thread, between iterations. Nothing is kept before Start and after Stop.
  void Start();
  void Stop() { on_ = false; }
  bool on() const { return on_.load(std::memory_order_relaxed); }
  // By the training thread, after each iteration: waits for the device, and finds out when it did
  // what.
  void Settle();

  // A piece of work, and its name when it has ended; see Trace().
  struct Begun {
    TraceOf of;
    int64_t at = 0;  // of the host, in ns
    int mark = -1;   // of the device
  };
  Begun Begin(TraceOf of);
  void End(const Begun& begun, const char* category, std::string name,
           std::vector<std::pair<const char*, int64_t>> numbers = {});
  // What the device has been asked for so far.
  int Mark() { return clock_->Mark(); }
  // From any thread. The span begins no earlier than the device has come to `mark` of this
  // iteration.
  void Add(TimelineSpan span, int mark = -1);

  // What has settled so far, which is forgotten.
  std::vector<TimelineSpan> Take() { return timeline_.Take(); }
  int64_t dropped() const;  // beyond what is kept at most

 private:
  struct Unsettled {
    TimelineSpan span;
    int begin = -1, end = -1;  // marks
    int not_before = -1;
  };
  void Keep(Unsettled unsettled);

  Device* const device_;
  const bool stream_;  // the device computes on its own time
  std::unique_ptr<DeviceClock> clock_;
  std::atomic<bool> on_{false};
  Timeline timeline_;
  mutable std::mutex mutex_;
  std::vector<Unsettled> unsettled_;  // of this iteration; guarded, as what follows
  int64_t dropped_ = 0;
};

inline bool Traced(const RunTrace* trace) { return trace != nullptr && trace->on(); }

// Does `work`, and shows it as "NAME" or, with a number, "NAME 7".
template <class F>
void Trace(RunTrace* trace, TraceOf of, const char* category, std::string_view name, const F& work,
           int64_t number = -1) {
  if (!Traced(trace)) return work();
  const RunTrace::Begun begun = trace->Begin(of);
  work();
  trace->End(begun, category, std::string(name) + (number < 0 ? "" : " " + std::to_string(number)));
}

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_RUN_TRACE_H_

// Records what one rank does during a few iterations, on a timeline with three tracks: the training
// thread, the compute stream of an asynchronous device, and the exchange of gradients. Code that
// can be traced gets a pointer to the trace, which is null if no trace was requested.
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

// The times to record of the training thread's work. On the CPU all values have the same effect.
enum class TraceOf {
  kHost,    // the thread's time
  kDevice,  // the device's time
  kBoth,    // both, each on its own track
  // The thread's time, but starting only when the device has finished all enqueued work, because
  // waiting before that delays nothing.
  kWait,
};

// The timeline of one rank.
class RunTrace {
 public:
  enum Track { kTraining, kStream, kExchange };
  // Returns the names of the tracks, indexed by Track.
  static std::vector<std::string> TrackNames();
  // Categories that other code searches for: all-reduces of gradients and statistics, and the time
  // that the thread waits for other ranks.
  static constexpr const char* kExchanges = "exchange";
  static constexpr const char* kExposed = "exposed";
  // Categories of the net's steps. If a step belongs to one layer, its span has a number kLayer
  // with the layer's index in the net.
  static constexpr const char* kForward = "forward";
  static constexpr const char* kBackward = "backward";
  static constexpr const char* kLayer = "layer";

  // `device` must outlive the trace.
  explicit RunTrace(Device* device);

  // Start and stop recording. Must be called by the training thread, between iterations.
  void Start();
  void Stop() { on_ = false; }
  bool on() const { return on_.load(std::memory_order_relaxed); }
  // Waits for the device and reads the times of its work. Called by the training thread after each
  // iteration.
  void CollectDeviceTimes();

  // Begin starts a piece of work, and End records it under its final name. See Trace().
  struct Started {
    TraceOf of;
    int64_t at = 0;  // host time in ns
    int mark = -1;   // mark in the device's stream, or -1
  };
  Started Begin(TraceOf of);
  void End(const Started& begun, const char* category, std::string name,
           std::vector<std::pair<const char*, int64_t>> numbers = {});
  // Marks the current end of the work enqueued on the device.
  int Mark() { return clock_->Mark(); }
  // Records a span. The span begins no earlier than the device reached `mark` in this iteration.
  // Thread-safe.
  void Add(TimelineSpan span, int mark = -1);

  // Returns the spans settled so far and removes them.
  std::vector<TimelineSpan> Take() { return timeline_.Take(); }
  int64_t dropped() const;  // spans not recorded because the limit was reached

 private:
  struct PendingSpan {
    TimelineSpan span;
    int begin = -1, end = -1;  // marks
    int not_before = -1;
  };
  void Record(PendingSpan span);

  Device* const device_;
  const bool stream_;  // the device computes asynchronously
  std::unique_ptr<DeviceClock> clock_;
  std::atomic<bool> on_{false};
  Timeline timeline_;
  mutable std::mutex mutex_;
  std::vector<PendingSpan> pending_;  // spans of this iteration; mutex_ guards it and dropped_
  int64_t dropped_ = 0;
};

// Returns true if `trace` is not null and is recording.
inline bool Traced(const RunTrace* trace) { return trace != nullptr && trace->on(); }

// Runs `work` and records it as "NAME", or as "NAME 7" if `number` is 7.
template <class F>
void Trace(RunTrace* trace, TraceOf of, const char* category, std::string_view name, const F& work,
           int64_t number = -1) {
  if (!Traced(trace)) return work();
  const RunTrace::Started begun = trace->Begin(of);
  work();
  trace->End(begun, category, std::string(name) + (number < 0 ? "" : " " + std::to_string(number)));
}

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_RUN_TRACE_H_

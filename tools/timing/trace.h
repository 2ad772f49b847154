// `train --trace`: shows a few iterations of all ranks on one timeline (docs/parallel.md,
// "Timeline"). For run folders, also measures the time of each layer in a few early iterations.
#ifndef DOPPIO_TOOLS_TIMING_TRACE_H_
#define DOPPIO_TOOLS_TIMING_TRACE_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/net/contract/communicator.h"
#include "core/net/run/run_trace.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/options.h"
#include "tools/timing/layer_times.h"

namespace doppio {

// A timeline to write.
struct TraceRequest {
  std::string file;
  // The first and last iteration; if unset, WindowOf() chooses.
  std::optional<std::pair<int64_t, int64_t>> iterations;
};
// Returns nothing if `options.trace` is "". Throws UsageError.
std::optional<TraceRequest> TraceRequestOf(const TraceOptions& options);

// Returns the first and last iteration to trace in a training from iteration `start` to `max_iter`
// - 1. If first > last, nothing is traced. The default is iterations 10 to 20 after the start, or
// the last eleven iterations of a shorter training.
std::pair<int64_t, int64_t> WindowOf(const TraceRequest& request, int64_t start, int64_t max_iter);

// This rank's clock at the start of the timeline, relative to rank 0's. In nanoseconds.
struct RankClock {
  int64_t start = 0;  // rank 0's clock at the start of the timeline
  int64_t shift = 0;  // add to this rank's clock to get rank 0's clock
  int64_t error = 0;  // upper bound of the error of `shift`
};

// The summary of a timeline of all ranks.
struct TraceSummary {
  // Returns a summary, such as "timeline: FILE (11 iterations; exchange 12.3 ms per iteration,
  // exposed 1.2 ms, hidden 90 %)".
  std::string Text() const;
  nlohmann::json Json() const;

  std::string file;
  int64_t first = 0, iterations = 0;                      // the first traced one, and their number
  bool exchanges = false;                                 // there are several ranks
  double exchange_ms = 0, exposed_ms = 0, waited_ms = 0;  // means per iteration
  int64_t dropped = 0;                                    // spans that did not fit
  int64_t clock_error_ns = 0;                             // the maximum over all ranks
  std::string failure;                                    // the error message if writing failed
};

// Measures the layers of a training in a few early iterations.
struct TimedLayers {
  // Adds the spans of an iteration if it is in the window.
  void Add(int64_t iteration, const std::vector<TimelineSpan>& spans);
  // Calls `report`, unless nothing was measured, and ends the measurement.
  void Report();

  std::function<void(const nlohmann::json&)> report;  // empty if there is nothing to measure
  std::optional<LayerTimes> times;                    // set while `report` is
  std::pair<int64_t, int64_t> window{0, -1};          // the first and last iteration
};

// Traces one rank of a training. If there is a request, every rank must have an object and make the
// same calls. Used by the training thread only.
class TrainingTrace {
 public:
  // `on_layers`, if not empty, is called once with the JSON of LayerTimes. `world` is null for a
  // single rank. `world` and `device` must outlive this object. Throws FileError on rank 0 if the
  // timeline's file cannot be written.
  TrainingTrace(const std::optional<TraceRequest>& request,
                std::function<void(const nlohmann::json&)> on_layers, const World* world,
                Device* device);

  // AddTo() must be called before the Trainer is created, Plan() afterwards.
  void AddTo(TrainerOptions* options);
  void Plan(Trainer* trainer);
  // Must be called after the training. Collective if there is a request. Rank 0 writes the file if
  // it is not written yet.
  void End();

  // Complete on rank 0, with a request and after End().
  const TraceSummary& summary() const { return summary_; }

 private:
  void Before(int64_t iteration);
  void TakeLayers();
  void Write();
  int rank() const { return world_ == nullptr ? 0 : world_->rank(); }
  int ranks() const { return world_ == nullptr ? 1 : world_->size(); }

  const std::optional<TraceRequest> request_;
  TimedLayers layers_;
  const World* const world_;
  Device* const device_;
  RunTrace trace_;
  std::pair<int64_t, int64_t> window_{0, -1};
  bool written_ = false;
  int64_t before_ = -1;  // the previous iteration, or -1
  // Spans of the window that TakeLayers() has already taken from trace_.
  std::vector<TimelineSpan> spans_;
  RankClock clock_;
  TraceSummary summary_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TIMING_TRACE_H_

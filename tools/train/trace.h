// `train --trace`: a few iterations of all ranks on one timeline (docs/parallel.md, "Timeline").
// And with a run folder: how long each layer of its rank took in a few early ones.
#ifndef DOPPIO_TOOLS_TRAIN_TRACE_H_
#define DOPPIO_TOOLS_TRAIN_TRACE_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/net/run/communicator.h"
#include "core/net/run/run_trace.h"
#include "solvers/trainer/trainer.h"
#include "tools/train/layer_times.h"

namespace doppio {

// What --trace and --trace_iterations ask for.
struct TraceRequest {
  std::string file;
  std::optional<std::pair<int64_t, int64_t>> iterations;  // first and last; without: see WindowOf
};
// Nothing without --trace. Throws UsageError.
std::optional<TraceRequest> TraceFromFlags();

// Which iterations, first and last, of a training from `start` up to before `max_iter` are shown;
// first > last: none. The default are iterations 10 to 20 after the start, or in a shorter training
// the last eleven.
std::pair<int64_t, int64_t> WindowOf(const TraceRequest& request, int64_t start, int64_t max_iter);

// One rank's part. With a request all ranks have one, and make the same calls.
class TrainingTrace {
 public:
  // `on_layers` is told what LayerTimes has found out, once; empty: nobody wants to know.
  // `world`, null for one rank alone, and `device` outlive it. Throws FileError on rank 0 where the
  // file cannot be written.
  TrainingTrace(std::optional<TraceRequest> request,
                std::function<void(const nlohmann::json&)> on_layers, const World* world,
                Device* device);

  // Before and after the Trainer is made.
  void AddTo(TrainerOptions* options);
  void Plan(Trainer* trainer);
  // After the training. With a request collective; rank 0 writes the file if it is not written yet.
  void End();

  // Of rank 0 with a request, after End: "timeline: FILE (11 iterations; exchange 12.3 ms an
  // iteration, exposed 1.2 ms, hidden 90 %)".
  std::string Text() const;
  nlohmann::json Json() const;

 private:
  void Before(int64_t iteration);
  void TakeLayers();
  void TellLayers();
  void AlignClocks();
  void Write();
  std::string GatherOn0(const std::string& own, int rank) const;
  int rank() const { return world_ == nullptr ? 0 : world_->rank(); }
  int ranks() const { return world_ == nullptr ? 1 : world_->size(); }

  const std::optional<TraceRequest> request_;
  std::function<void(const nlohmann::json&)> on_layers_;  // empty as soon as it was told
  const World* const world_;
  Device* const device_;
  RunTrace trace_;
  std::pair<int64_t, int64_t> window_{0, -1};
  int64_t begun_ = 0;  // iterations of the window
  bool written_ = false;
  std::optional<LayerTimes> layers_;  // where somebody wants to know
  std::pair<int64_t, int64_t> layers_window_{0, -1};
  int64_t before_ = -1;              // the iteration before this one, or -1
  std::vector<TimelineSpan> spans_;  // of the window, that have been taken for the layers
  int64_t start_ns_ = 0;             // of rank 0's clock: the file's 0
  int64_t shift_ns_ = 0;             // from this rank's clock to rank 0's
  int64_t clock_error_ns_ = 0;       // at most, from here on of all ranks
  // Of all ranks: means per iteration, and the sum of what did not fit.
  double exchange_ms_ = 0, exposed_ms_ = 0, waited_ms_ = 0;
  int64_t dropped_ = 0;
  std::string failure_;  // of writing
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_TRACE_H_

// Times a net. First times whole iterations (forward, backward, and an update by SGD with
// momentum), then, in separate iterations, each layer on its own.
#ifndef DOPPIO_TOOLS_TIMING_NET_TIMER_H_
#define DOPPIO_TOOLS_TIMING_NET_TIMER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/run/net.h"
#include "tools/gpus/gpu_readings.h"

namespace doppio {

struct LayerTime {
  double forward_ms = 0, backward_ms = 0;
  // The numbers of values of the gradients that are complete after this layer's backward pass, as
  // ranks exchange them: with the padding of their layouts.
  std::vector<int64_t> gradients;
};

struct Timing {
  double forward_ms = 0, backward_ms = 0, update_ms = 0, iteration_ms = 0;  // medians
  // The time of all timed iterations.
  double total_ms = 0;
  double data_wait = 0;  // fraction of the total time spent waiting for data, 0 to 1
  double startup_seconds = 0;
  std::vector<LayerTime> layers;  // means, one entry per node
  // During the whole iterations; absent if the device is not monitored.
  std::optional<GpuSummary> gpu;
};

class NetTimer {
 public:
  // Plans the net, and loads the files `weights` as LoadWeightFiles does. The devices of `options`
  // must outlive the timer, which sets the options of backward itself.
  NetTimer(Graph graph, PlanOptions options, const std::string& weights);
  ~NetTimer();

  const Net& net() const { return *net_; }

  // Runs the first iteration. Returns the seconds from the start of the process to the end of that
  // iteration.
  double Start();
  // Runs the remaining warm-up iterations and times `iterations` iterations. Must be called after
  // Start(), which counts as the first of the `warmup` iterations.
  Timing Run(int warmup, int iterations);
  // Runs layers until going() returns false. Returns the milliseconds that the same layers take
  // alone according to `alone`.
  double ComputeWhile(const Timing& alone, const std::function<bool()>& going);

 private:
  struct Moments;
  class TimedUpdate;

  Moments Iteration(bool apart = true);
  void TimeIterations(int iterations, Timing* timing);
  void EndWhole(GpuWatch* watch, double wait_before, double begin, Timing* timing);
  void TimeLayers(int iterations, Timing* timing);

  Device* device_;
  ParamStore params_;
  std::unique_ptr<Net> net_;
  std::unique_ptr<TimedUpdate> update_;
  int64_t iteration_ = 0;
  double startup_seconds_ = 0;
};

// Returns the throughput of one rank, or 0 if the iteration time is 0.
double ImagesPerSecond(const Net& net, const Timing& timing);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TIMING_NET_TIMER_H_

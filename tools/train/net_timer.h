// Times a net: whole iterations (forward, backward, and an update by SGD with momentum) without any
// other clock in between, then, apart from that, every layer alone.
#ifndef DOPPIO_TOOLS_TRAIN_NET_TIMER_H_
#define DOPPIO_TOOLS_TRAIN_NET_TIMER_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/net/run/net.h"
#include "tools/cluster/gpu_readings.h"

namespace doppio {

struct LayerTime {
  double forward_ms = 0, backward_ms = 0;
  // Complete after this layer's backward: of each the number of values.
  std::vector<int64_t> gradients;
};

struct Timing {
  double forward_ms = 0, backward_ms = 0, update_ms = 0, iteration_ms = 0;  // medians
  double total_ms = 0;
  double data_wait = 0;  // share of the time of all iterations
  double startup_seconds = 0;
  std::vector<LayerTime> layers;  // means, per node
  std::optional<GpuSummary> gpu;  // during whole iterations, where the device is watched
};

class NetTimer {
 public:
  // Planned as --engine, --fusion, --recompute, --offload and --weights say. `device` outlives the
  // timer.
  NetTimer(Graph graph, Device* device);
  ~NetTimer();

  const Net& net() const { return *net_; }

  // The first iteration. Returns the seconds from the start of the process to its end.
  double Start();
  // After Start, which is the first of the `warmup` iterations.
  Timing Run(int warmup, int iterations);
  // Computes while going() says so, and returns the ms that it would have taken alone, as `alone`
  // has it of each layer.
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

// Of one rank.
double ImagesPerSecond(const Net& net, const Timing& timing);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_NET_TIMER_H_

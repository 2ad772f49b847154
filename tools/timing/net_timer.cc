#include "tools/timing/net_timer.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/base/clock.h"
#include "solvers/state/run_state.h"
#include "solvers/trainer/update_step.h"
#include "solvers/update/rule_check.h"
#include "solvers/update/update.h"
#include "tools/cli/median.h"
#include "tools/nets/nets.h"

namespace doppio {
namespace {

double NowMs() { return 1e3 * MonotonicSeconds(); }

// Returns the seconds since the kernel created this process, which includes loading libraries.
double SecondsSinceProcessStart() {
  std::ifstream file("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // The name in parentheses may contain spaces. The start time is the 20th field after it.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double ticks = std::strtod(field.c_str(), nullptr);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// The settings that other frameworks are timed with: SGD with momentum and weight decay. The rate
// (kRate) is small enough for random data.
SolverParameter PeerSolver() {
  SolverParameter solver;
  solver.set_type("SGD");
  solver.set_momentum(0.9F);
  solver.set_weight_decay(0.0005F);
  return solver;
}
constexpr double kRate = 1e-4;

// Returns a training with the peer solver and these options.
TrainingRun PeerTraining(const PlanOptions& plan) {
  TrainingRun run;
  run.spec.param = PeerSolver();
  run.options.plan = plan;
  return run;
}

}  // namespace

// Updates parameters as `train` does with this solver, either during backward or after it, and
// measures the time of updates during backward.
class NetTimer::TimedUpdate : public GradientSink {
 public:
  explicit TimedUpdate(ParamStore* params)
      : update_(PeerSolver(), FieldPlaces(), params),
        piecewise_(params->arenas().gradients_share_memory()) {}

  void Begin(int64_t iteration) {
    iteration_ = iteration;
    if (piecewise_) update_.early().Begin(kRate, iteration);
    ms_ = 0;
  }
  void Ready(int param) override {
    if (!piecewise_) return;
    const double begin = NowMs();
    update_.early().Ready(param);
    ms_ += NowMs() - begin;
  }
  void ReadySlice(int param, int64_t from, int64_t to) override {
    const double begin = NowMs();
    update_.early().ReadySlice(param, from, to);
    ms_ += NowMs() - begin;
  }
  void Finish() {
    if (piecewise_) {
      update_.early().Finish();
    } else {
      update_.Run(kRate, iteration_, 1);
    }
  }
  double ms() const { return ms_; }  // time of updates within backward

 private:
  Update update_;
  const bool piecewise_;
  int64_t iteration_ = 0;
  double ms_ = 0;
};

struct NetTimer::Moments {
  double begin, forward, backward, end;
  double update;  // within backward
};

NetTimer::NetTimer(Graph graph, PlanOptions options, const std::string& weights)
    : device_(options.device), params_(device_, DType::kFloat32, graph.spec.options.seed) {
  options.backward = graph.spec.options.phase == TRAIN;
  options.accumulate = false;
  options.gradients_consumed = options.backward && UpdatesPerParameter(PeerTraining(options));
  options.history_slots = options.backward ? HistorySlots(PeerSolver()) : 0;
  net_ = std::make_unique<Net>(std::move(graph), options, &params_);
  if (!weights.empty()) LoadWeightFiles(weights, net_.get());
  if (options.backward) update_ = std::make_unique<TimedUpdate>(&params_);
}

NetTimer::~NetTimer() = default;

double NetTimer::Start() {
  Iteration();
  startup_seconds_ = SecondsSinceProcessStart();
  return startup_seconds_;
}

Timing NetTimer::Run(int warmup, int iterations) {
  Timing timing;
  timing.startup_seconds = startup_seconds_;
  for (int i = 1; i < warmup; ++i) Iteration();
  TimeIterations(iterations, &timing);
  TimeLayers(iterations, &timing);
  return timing;
}

// Runs one iteration. If `apart`, synchronises between its parts, so that each part can be timed.
// Otherwise the iteration runs as in `train`.
NetTimer::Moments NetTimer::Iteration(bool apart) {
  const auto now = [&] {
    if (apart) device_->Synchronize();
    return NowMs();
  };
  Moments m{};
  m.begin = now();
  net_->StartForward();
  m.forward = now();
  if (update_ != nullptr) {
    update_->Begin(iteration_);
    net_->Backward(false, update_.get());
    m.update = update_->ms();
  }
  m.backward = now();
  if (update_ != nullptr) update_->Finish();
  net_->Loss();
  m.end = now();
  ++iteration_;
  return m;
}

void NetTimer::TimeIterations(int iterations, Timing* timing) {
  std::vector<double> forward, backward, update, whole;
  for (auto* list : {&forward, &backward, &update, &whole})
    list->reserve(static_cast<size_t>(iterations));
  // On an asynchronous device, whole iterations are timed without synchronisation, and their parts
  // separately.
  const bool ahead = device_->properties.asynchronous;
  const std::unique_ptr<GpuWatch> watch = WatchGpu(*device_);
  const double wait_before = WaitSeconds(*net_), begin = NowMs();
  for (int i = 0; i < iterations && ahead; ++i) Iteration(false);
  if (ahead) EndWhole(watch.get(), wait_before, begin, timing);
  for (int i = 0; i < iterations; ++i) {
    const Moments m = Iteration();
    forward.push_back(m.forward - m.begin);
    backward.push_back(m.backward - m.forward - m.update);
    update.push_back(m.end - m.backward + m.update);
    whole.push_back(m.end - m.begin);
  }
  if (!ahead) EndWhole(watch.get(), wait_before, begin, timing);
  timing->forward_ms = Median(forward);
  timing->backward_ms = Median(backward);
  timing->update_ms = Median(update);
  timing->iteration_ms = ahead ? timing->total_ms / iterations : Median(whole);
}

// Records the total time of the iterations since `begin`.
void NetTimer::EndWhole(GpuWatch* watch, double wait_before, double begin, Timing* timing) {
  device_->Synchronize();
  timing->total_ms = NowMs() - begin;
  if (watch != nullptr) timing->gpu = watch->Summary();
  timing->data_wait = (WaitSeconds(*net_) - wait_before) * 1e3 / timing->total_ms;
}

// Reorders and gradient sums count for the layer that needs them.
void NetTimer::TimeLayers(int iterations, Timing* timing) {
  timing->layers.resize(net_->graph().nodes.size());
  auto run = [&](const std::vector<PlanStep>& steps, double LayerTime::*field) {
    for (const PlanStep& step : steps) {
      const double begin = NowMs();
      net_->passes().RunStep(step);
      device_->Synchronize();
      timing->layers[step.node].*field += (NowMs() - begin) / iterations;
    }
  };
  for (int i = 0; i < iterations; ++i) {
    run(net_->plan().forward, &LayerTime::forward_ms);
    if (update_ != nullptr) run(net_->plan().backward, &LayerTime::backward_ms);
    ++net_->pass().step;
  }
  for (const PlanStep& step : net_->plan().backward) {
    for (const int param : step.ready) {
      timing->layers[step.node].gradients.push_back(params_.params()[param].value.stored());
    }
  }
}

double NetTimer::ComputeWhile(const Timing& alone, const std::function<bool()>& going) {
  double ms = 0;
  const auto run = [&](const std::vector<PlanStep>& steps, double LayerTime::*field) {
    std::vector<int> steps_of(alone.layers.size());
    for (const PlanStep& step : steps) ++steps_of[step.node];
    for (const PlanStep& step : steps) {
      if (!going()) return;
      const size_t node = step.node;
      net_->passes().RunStep(step);
      device_->Synchronize();
      ms += alone.layers[node].*field / steps_of[node];
    }
  };
  while (going()) {
    run(net_->plan().forward, &LayerTime::forward_ms);
    if (update_ != nullptr) run(net_->plan().backward, &LayerTime::backward_ms);
    ++net_->pass().step;
  }
  return ms;
}

double ImagesPerSecond(const Net& net, const Timing& timing) {
  return timing.iteration_ms > 0 ? static_cast<double>(net.batch()) * 1e3 / timing.iteration_ms : 0;
}

}  // namespace doppio

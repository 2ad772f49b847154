// `time`: how fast a net runs. First whole iterations (forward, backward, update) without any other
// clock in between, then, apart from that, every layer alone.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "core/base/bytes.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/net/net.h"
#include "solvers/run_state.h"
#include "solvers/update.h"
#include "tools/command.h"
#include "tools/describe.h"
#include "tools/devices.h"
#include "tools/flags.h"
#include "tools/gpu_readings.h"
#include "tools/nets.h"
#include "tools/text_table.h"

DEFINE_int32(warmup, 5, "<N> iterations before the clock starts");
DEFINE_bool(startup, false,
            "only the time from the start of the process to the end of the first iteration");

namespace doppio {
namespace {

double NowMs() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle),
                   values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  return (upper +
          *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle))) /
         2;
}

// Since the kernel made the process: loading of libraries included.
double SecondsSinceProcessStart() {
  std::ifstream file("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // The name in parentheses may hold spaces; the start time is the 20th field after it.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double ticks = std::strtod(field.c_str(), nullptr);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

int64_t ProcessPeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

// The peers' setting: SGD with momentum and weight decay, at a rate that keeps random data
// harmless.
SolverParameter PeerSolver() {
  SolverParameter solver;
  solver.set_type("SGD");
  solver.set_momentum(0.9F);
  solver.set_weight_decay(0.0005F);
  return solver;
}
constexpr double kRate = 1e-4;

// Updates as `train` does for such a solver, while backward goes on or after it, and says how long the former took.
class TimedUpdate : public GradientSink {
 public:
  explicit TimedUpdate(ParamStore* params)
      : update_(PeerSolver(), FieldPlaces(), params), piecewise_(params->gradients_share_memory()) {}

  void Begin(int64_t iteration) {
    iteration_ = iteration;
    if (piecewise_) update_.Begin(kRate, iteration);
    ms_ = 0;
  }
  void Ready(int param) override {
    if (!piecewise_) return;
    const double begin = NowMs();
    update_.Ready(param);
    ms_ += NowMs() - begin;
  }
  void Finish() {
    if (piecewise_) {
      update_.Finish();
    } else {
      update_.Run(kRate, iteration_, 1);
    }
  }
  double ms() const { return ms_; }  // within backward

 private:
  Update update_;
  const bool piecewise_;
  int64_t iteration_ = 0;
  double ms_ = 0;
};

struct LayerTime {
  double forward_ms = 0, backward_ms = 0;
};

struct Timing {
  double forward_ms = 0, backward_ms = 0, update_ms = 0, iteration_ms = 0;  // medians
  double total_ms = 0;
  double data_wait = 0;  // share of the time of all iterations
  double startup_seconds = 0;
  std::vector<LayerTime> layers;  // means, per node
  std::optional<GpuSummary> gpu;  // during whole iterations, where the device is watched
};

class Timer {
 public:
  Timer(Graph graph, Device* device)
      : device_(device), params_(device, DType::kFloat32, graph.spec.options.seed) {
    PlanOptions options;
    options.device = device;
    options.engine = FLAGS_engine;
    options.fusion = FLAGS_fusion;
    options.saving = SavingFromFlags();
    options.backward = graph.spec.options.phase == TRAIN;
    options.accumulate = false;
    options.gradients_consumed = options.backward && ConsumesGradients(PeerSolver(), *device);
    options.history_slots = options.backward ? HistorySlots(PeerSolver()) : 0;
    net_ = std::make_unique<Net>(std::move(graph), options, &params_);
    if (!FLAGS_weights.empty()) LoadWeightFiles(FLAGS_weights, net_.get());
    if (options.backward) update_ = std::make_unique<TimedUpdate>(&params_);
  }

  const Net& net() const { return *net_; }

  Timing Run(int warmup, int iterations) {
    Timing timing;
    Iteration();
    timing.startup_seconds = SecondsSinceProcessStart();
    if (FLAGS_startup) return timing;
    LOG(INFO) << "*** Benchmark begins ***";
    LOG(INFO) << "Testing for " << iterations << " iterations.";
    for (int i = 1; i < warmup; ++i) Iteration();
    TimeIterations(iterations, &timing);
    TimeLayers(iterations, &timing);
    return timing;
  }

 private:
  struct Moments {
    double begin, forward, backward, end;
    double update;  // within backward
  };

  // `apart`: waits between the parts, so that each has a time of its own; otherwise as `train` runs.
  Moments Iteration(bool apart = true) {
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

  void TimeIterations(int iterations, Timing* timing) {
    std::vector<double> forward, backward, update, whole;
    for (auto* list : {&forward, &backward, &update, &whole})
      list->reserve(static_cast<size_t>(iterations));
    // A GPU works on while the host goes ahead: whole iterations, and their parts by themselves.
    const bool ahead = device_->kind() != DeviceKind::kCpu;
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

  // What iterations that began at `begin` have taken altogether.
  void EndWhole(GpuWatch* watch, double wait_before, double begin, Timing* timing) {
    device_->Synchronize();
    timing->total_ms = NowMs() - begin;
    if (watch != nullptr) timing->gpu = watch->Summary();
    timing->data_wait = (WaitSeconds(*net_) - wait_before) * 1e3 / timing->total_ms;
  }

  // Reorders and sums of gradients count for the layer they are made for.
  void TimeLayers(int iterations, Timing* timing) {
    timing->layers.resize(net_->graph().nodes.size());
    auto run = [&](const std::vector<PlanStep>& steps, double LayerTime::*field) {
      for (const PlanStep& step : steps) {
        const double begin = NowMs();
        net_->RunStep(step);
        device_->Synchronize();
        timing->layers[static_cast<size_t>(step.node)].*field += (NowMs() - begin) / iterations;
      }
    };
    for (int i = 0; i < iterations; ++i) {
      run(net_->plan().forward, &LayerTime::forward_ms);
      if (update_ != nullptr) run(net_->plan().backward, &LayerTime::backward_ms);
      ++net_->pass().step;
    }
  }

  Device* device_;
  ParamStore params_;
  std::unique_ptr<Net> net_;
  std::unique_ptr<TimedUpdate> update_;
  int64_t iteration_ = 0;
};

double ImagesPerSecond(const Net& net, const Timing& timing) {
  return timing.iteration_ms > 0
             ? static_cast<double>(BatchOf(net.graph())) * 1e3 / timing.iteration_ms
             : 0;
}

// The lines that parsers of `caffe time` look for.
void LogCaffeLines(const Net& net, const Timing& timing, int iterations) {
  LOG(INFO) << "Average time per layer: ";
  for (size_t i = 0; i < timing.layers.size(); ++i) {
    const std::string& name = net.graph().layer(static_cast<int>(i)).name();
    const std::string padding(name.size() < 10 ? 10 - name.size() : 0, ' ');
    LOG(INFO) << padding << name << "\tforward: " << timing.layers[i].forward_ms << " ms.";
    LOG(INFO) << padding << name << "\tbackward: " << timing.layers[i].backward_ms << " ms.";
  }
  LOG(INFO) << "Average Forward pass: " << timing.forward_ms << " ms.";
  LOG(INFO) << "Average Backward pass: " << timing.backward_ms << " ms.";
  LOG(INFO) << "Average Forward-Backward: " << timing.forward_ms + timing.backward_ms << " ms.";
  LOG(INFO) << "Total Time: " << timing.iteration_ms * iterations << " ms.";
  LOG(INFO) << "*** Benchmark ends ***";
}

void PrintText(const Net& net, const Timing& timing, int64_t peak_bytes) {
  TextTable table({"layer", "type", "kernel", ">forward ms", ">backward ms", ">share %"});
  double sum = 0;
  for (const LayerTime& t : timing.layers) sum += t.forward_ms + t.backward_ms;
  for (size_t i = 0; i < timing.layers.size(); ++i) {
    const LayerSpec& layer = net.graph().layer(static_cast<int>(i));
    const LayerTime& t = timing.layers[i];
    table.Add({layer.name(), layer.type(), KernelName(net, i), Fixed(t.forward_ms, 3),
               Fixed(t.backward_ms, 3),
               Fixed(sum > 0 ? 100 * (t.forward_ms + t.backward_ms) / sum : 0, 1)});
  }
  table.Print(std::cout);
  const std::string indent = "\n  ";
  std::cout << "\niteration " << Fixed(timing.iteration_ms, 3) << " ms = forward "
            << Fixed(timing.forward_ms, 3) << " + backward " << Fixed(timing.backward_ms, 3)
            << " + update " << Fixed(timing.update_ms, 3) << " (medians)\n"
            << Fixed(ImagesPerSecond(net, timing), 1) << " images/s at batch "
            << BatchOf(net.graph()) << " on " << net.params().device()->name() << '\n'
            << "data wait " << Fixed(100 * timing.data_wait, 1) << " %, peak memory "
            << Bytes(peak_bytes) << ", " << net.plan().reorders
            << " reorders, first iteration ended " << Fixed(timing.startup_seconds, 2)
            << " s after the start\n"
            << "activations " << Bytes(net.plan().memory.activations) << '\n';
  for (const std::string& line : DescribeSaving(net)) std::cout << line << '\n';
  if (timing.gpu && !Text(*timing.gpu).empty()) std::cout << Text(*timing.gpu) << '\n';
}

nlohmann::json ToJson(const Net& net, const Timing& timing, int iterations, int64_t peak_bytes) {
  nlohmann::json out;
  out["net"] = net.graph().spec.name;
  out["phase"] = Phase_Name(net.graph().spec.options.phase);
  out["device"] = net.params().device()->name();
  out["threads"] = NumThreads();
  out["batch"] = BatchOf(net.graph());
  out["iterations"] = iterations;
  out["images_per_second"] = ImagesPerSecond(net, timing);
  out["iteration_ms"] = timing.iteration_ms;
  out["forward_ms"] = timing.forward_ms;
  out["backward_ms"] = timing.backward_ms;
  out["update_ms"] = timing.update_ms;
  out["data_wait"] = timing.data_wait;
  out["startup_seconds"] = timing.startup_seconds;
  out["peak_memory_bytes"] = peak_bytes;
  out["activation_bytes"] = net.plan().memory.activations;
  out["activation_bytes_plain"] = net.plan().saved.plain_activations;
  out["forward_again"] = net.plan().saved.work_again;
  out["host_bytes"] = net.plan().saved.host_bytes;
  out["process_peak_bytes"] = ProcessPeakBytes();
  out["reorders"] = net.plan().reorders;
  if (timing.gpu) out["gpu"] = ToJson(*timing.gpu);
  out["layers"] = nlohmann::json::array();
  for (size_t i = 0; i < timing.layers.size(); ++i) {
    const LayerSpec& layer = net.graph().layer(static_cast<int>(i));
    out["layers"].push_back({{"name", layer.name()},
                             {"type", layer.type()},
                             {"kernel", KernelName(net, i)},
                             {"forward_ms", timing.layers[i].forward_ms},
                             {"backward_ms", timing.layers[i].backward_ms}});
  }
  return out;
}

ExitCode RunTime(const CommandLine& line, bool* began) {
  if (FLAGS_iterations < 1) throw UsageError("--iterations must be at least 1");
  const std::unique_ptr<Device> device = OpenDevice(FLAGS_gpu);
  const DataMode data = FLAGS_synthetic ? DataMode::kSynthetic : DataMode::kOpen;
  Timer timer(NetFromFlags(line, PhaseFromFlags(TRAIN), data).graph, device.get());
  *began = true;
  const Timing timing = timer.Run(FLAGS_warmup, FLAGS_iterations);
  if (FLAGS_startup) {
    if (FLAGS_json) {
      std::cout << nlohmann::json{{"startup_seconds", timing.startup_seconds}}.dump() << '\n';
    } else {
      std::cout << Fixed(timing.startup_seconds, 3)
                << " s from the start to the end of the first iteration\n";
    }
    return ExitCode::kDone;
  }
  LogCaffeLines(timer.net(), timing, FLAGS_iterations);
  if (FLAGS_json) {
    std::cout << ToJson(timer.net(), timing, FLAGS_iterations, device->peak_bytes()).dump(2)
              << '\n';
  } else {
    PrintText(timer.net(), timing, device->peak_bytes());
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "time",
                {"times a net: whole iterations and each layer",
                 {"model", "solver", "iterations", "warmup", "phase", "synthetic", "batch",
                  "weights", "gpu", "precision", "workspace_mb", "deterministic", "cuda_graph", "level", "stage", "set", "unset", "data_threads", "seed",
                  "engine", "fusion", "recompute", "offload", "startup", "json"},
                 {"model|solver"},
                 "",
                 "doppio time --model=models/lenet/train_val.prototxt --synthetic --json",
                 &RunTime});

}  // namespace
}  // namespace doppio

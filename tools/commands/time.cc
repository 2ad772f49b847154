// `time`: measures how fast a net runs.
#include <iostream>

#include "core/base/bytes.h"
#include "core/base/log.h"
#include "tools/cli/command.h"
#include "tools/cli/features.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/nets/describe.h"
#include "tools/nets/devices.h"
#include "tools/nets/nets.h"
#include "tools/nets/placement.h"
#include "tools/timing/net_timer.h"
#include "tools/timing/net_times.h"

namespace doppio {
namespace {

// Logs the lines that parsers of the output of `caffe time` expect.
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

void PrintText(const Net& net, const Timing& timing) {
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
            << Fixed(ImagesPerSecond(net, timing), 1) << " images/s at batch " << net.batch()
            << " on " << net.params().device()->name() << '\n'
            << "data wait " << Fixed(100 * timing.data_wait, 1) << " %, peak memory "
            << Bytes(net.params().device()->peak_bytes()) << ", " << net.plan().reorders
            << " reorders, first iteration ended " << Fixed(timing.startup_seconds, 2)
            << " s after the start\n"
            << "activations " << Bytes(net.plan().memory.activations) << '\n';
  if (net.plan().devices.size() > 1) std::cout << PlacementText(net) << '\n';
  for (const std::string& line : DescribeSaving(net)) std::cout << line << '\n';
  if (timing.gpu && !Text(*timing.gpu).empty()) std::cout << Text(*timing.gpu) << '\n';
}

ExitCode RunTime(const CommandLine& line, bool* began) {
  AtLeast("iterations", line.flags.iterations, 1);
  std::unique_ptr<Device> device = OpenDevice(line.flags);
  Graph graph =
      MakeNamedNet(line.flags, MakeNetOptions(line.flags, line.flags.precision,
                                              PhaseOr(line.flags.phase, TRAIN), DataMode::kOpen))
          .graph;
  PlacedDevices placed = OpenPlaces(line.flags, FeaturesOf(line), graph);
  TakeGpu(&placed, &device);
  PlanOptions plan = MakePlanOptions(line.flags, device.get());
  plan.places = placed.by_name;
  NetTimer timer(std::move(graph), plan, line.flags.weights);
  *began = true;
  const double startup_seconds = timer.Start();
  if (line.flags.startup) {
    if (line.flags.json) {
      std::cout << JsonText({{"startup_seconds", startup_seconds}}, -1) << '\n';
    } else {
      std::cout << Fixed(startup_seconds, 3)
                << " s from the start to the end of the first iteration\n";
    }
    return ExitCode::kDone;
  }
  LOG(INFO) << "*** Benchmark begins ***";
  LOG(INFO) << "Testing for " << line.flags.iterations << " iterations.";
  const Timing timing = timer.Run(line.flags.warmup, line.flags.iterations);
  LogCaffeLines(timer.net(), timing, line.flags.iterations);
  if (line.flags.json) {
    std::cout << JsonText(ToJson(timer.net(), timing, line.flags.iterations)) << '\n';
  } else {
    PrintText(timer.net(), timing);
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "time",
    {"measures the time of whole iterations and of each layer of a net",
     Words("model solver iterations warmup phase synthetic batch weights gpu place microbatches "
           "precision "
           "workspace_mb deterministic cuda_graph level stage set unset threads data_threads "
           "max_pixels seed engine fusion winograd recompute offload startup json"),
     {"model|solver"},
     "",
     "doppio time --model=models/lenet/train_val.prototxt --synthetic --json",
     &RunTime});

}  // namespace
}  // namespace doppio

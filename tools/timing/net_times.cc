#include "tools/timing/net_times.h"

#include <sys/resource.h>

#include <cmath>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "tools/cli/text_table.h"
#include "tools/nets/describe.h"
#include "tools/nets/placement.h"

namespace doppio {
namespace {

int64_t ProcessPeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

// Returns a non-negative number from `times`. Throws if it is missing, negative or not finite.
double TimeOf(const nlohmann::json& times, const char* key) {
  const double value = times.at(key).get<double>();
  if (!(std::isfinite(value) && value >= 0))
    throw std::runtime_error(std::string(key) + " is not a time");
  return value;
}

nlohmann::json PlacementJson(const Net& net) {
  nlohmann::json out = {{"microbatches", net.microbatches().size()}};
  for (int place = 0; place < static_cast<int>(net.plan().devices.size()); ++place)
    out["devices"].push_back(PlaceText(net, place));
  return out;
}

}  // namespace

nlohmann::json ToJson(const Net& net, const Timing& timing, int iterations) {
  nlohmann::json out;
  out["net"] = net.graph().spec.name;
  out["phase"] = Phase_Name(net.graph().spec.options.phase);
  out["device"] = net.params().device()->name();
  out["threads"] = NumThreads();
  out["batch"] = net.batch();
  if (net.plan().devices.size() > 1) out["placement"] = PlacementJson(net);
  out["iterations"] = iterations;
  out["images_per_second"] = ImagesPerSecond(net, timing);
  out["iteration_ms"] = timing.iteration_ms;
  out["forward_ms"] = timing.forward_ms;
  out["backward_ms"] = timing.backward_ms;
  out["update_ms"] = timing.update_ms;
  out["data_wait"] = timing.data_wait;
  out["startup_seconds"] = timing.startup_seconds;
  out["peak_memory_bytes"] = net.params().device()->peak_bytes();
  out["activation_bytes"] = net.plan().memory.activations;
  out["activation_bytes_plain"] = net.plan().saved.plain_activations;
  out["forward_again"] = net.plan().saved.work_recomputed;
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
                             {"backward_ms", timing.layers[i].backward_ms},
                             {"gradients", timing.layers[i].gradients}});
  }
  return out;
}

nlohmann::json TimesAtRate(const Graph& graph, double images_per_s) {
  double macs = 0;
  for (const Node& node : graph.nodes) macs += static_cast<double>(node.shape.macs);
  if (macs == 0) {
    throw UsageError(
        "--images_per_s divides the time among the layers by their multiply-adds, but no layer of "
        "this net has any; let scale measure the net, or give --times");
  }
  // Caffe's own measurement of GoogLeNet on a K40: 563 ms forward, 1124 ms backward.
  constexpr double kBackwardShare = 2.0 / 3;
  const double iteration_ms = static_cast<double>(BatchOf(graph)) * 1e3 / images_per_s;
  nlohmann::json out;
  out["net"] = graph.spec.name;
  out["phase"] = Phase_Name(graph.spec.options.phase);
  out["device"] = "a device of " + Rate(images_per_s) + " images/s";
  out["batch"] = BatchOf(graph);
  out["images_per_second"] = images_per_s;
  out["iteration_ms"] = iteration_ms;
  out["forward_ms"] = iteration_ms * (1 - kBackwardShare);
  out["backward_ms"] = iteration_ms * kBackwardShare;
  out["update_ms"] = 0;
  out["layers"] = nlohmann::json::array();
  int index = 0;
  for (const Node& node : graph.nodes) {
    // Backward completes a shared gradient at the first layer that uses it, which owns it.
    std::vector<int64_t> gradients;
    for (size_t i = 0; i < node.params.size(); ++i) {
      const GraphParam& param = graph.params[node.params[i]];
      if (param.node == index && node.param_gradient[i]) gradients.push_back(param.shape.count());
    }
    const double share = static_cast<double>(node.shape.macs) / macs;
    out["layers"].push_back({{"name", graph.layer(index).name()},
                             {"backward_ms", iteration_ms * kBackwardShare * share},
                             {"gradients", gradients}});
    ++index;
  }
  return out;
}

RankTimes ToRankTimes(const nlohmann::json& times, const std::string& file) {
  RankTimes out;
  try {
    for (const char* key : {"net", "device"}) (void)times.at(key).get<std::string>();
    if (times.at("phase").get<std::string>() != "TRAIN")
      throw std::runtime_error("its phase is not TRAIN");
    const double forward = TimeOf(times, "forward_ms"), backward = TimeOf(times, "backward_ms");
    const double update = TimeOf(times, "update_ms"), whole = TimeOf(times, "iteration_ms");
    out.batch = times.at("batch").get<int64_t>();
    if (out.batch < 1) throw std::runtime_error("it has no batch");
    double of_layers = 0;
    for (const nlohmann::json& layer : times.at("layers"))
      of_layers += TimeOf(layer, "backward_ms");
    if (!(whole > 0 && backward > 0 && of_layers > 0))
      throw std::runtime_error("backward takes no time in it");
    const double scale = whole / (forward + backward + update);
    out.forward_ms = forward * scale;
    out.update_ms = update * scale;
    const nlohmann::json& layers = times.at("layers");
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      BackwardPiece piece;
      piece.ms = backward * scale * TimeOf(*layer, "backward_ms") / of_layers;
      piece.gradients = layer->at("gradients").get<std::vector<int64_t>>();
      for (const int64_t values : piece.gradients) {
        if (values < 0) throw std::runtime_error("gradients are not numbers of values");
      }
      out.backward.push_back(std::move(piece));
    }
  } catch (const std::exception& e) {
    throw FileError(
        SourceLoc{file},
        "this is not what 'doppio time --json' writes of a net that trains: ", e.what());
  }
  return out;
}

}  // namespace doppio

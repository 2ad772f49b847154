#include "tools/timing/layer_times.h"

#include <algorithm>

#include "core/base/content/parsed_json.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tools/cli/median.h"

namespace doppio {
namespace {

using nlohmann::json;

constexpr int64_t kFirstTimed = 2, kLastTimed = 4;  // iterations after the start

int64_t OwnBytes(const KernelTensors& tensors) {
  int64_t bytes = 0;
  for (const Tensor& top : tensors.tops) {
    const auto same = [&](const Tensor& bottom) { return bottom.raw == top.raw; };
    if (top && std::none_of(tensors.bottoms.begin(), tensors.bottoms.end(), same))
      bytes += top.bytes();
  }
  return bytes;
}

// Returns the index of the layer whose step `span` shows, or -1.
int64_t LayerOf(const TimelineSpan& span) {
  for (const auto& [name, number] : span.numbers) {
    if (name == std::string(RunTrace::kLayer)) return number;
  }
  return -1;
}

// Reads a number from a file that may be damaged. Returns 0 if the number is missing or not
// positive, and at most 1e15.
double NumberOrZero(const json& layer, const char* key) {
  const auto found = layer.find(key);
  const double value = found != layer.end() && found->is_number() ? found->get<double>() : 0;
  return value > 0 ? std::min(value, 1e15) : 0;
}

}  // namespace

LayerTimes::LayerTimes(const Net& net) {
  const Graph& graph = net.graph();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const LayerSpec& spec = graph.layer(static_cast<int>(i));
    Layer layer{spec.name(), spec.type(), 0, OwnBytes(net.plan().tensors[i]), {}, {}};
    for (const int param : graph.nodes[i].params) {
      const GraphParam& p = graph.params[param];
      if (p.node == static_cast<int>(i)) layer.params += p.shape.count();
    }
    layers_.push_back(std::move(layer));
  }
}

std::pair<int64_t, int64_t> LayerTimes::WindowOf(int64_t start, int64_t max_iter) {
  const int64_t last = std::min(start + kLastTimed, max_iter - 1);
  return {std::max(start, std::min(start + kFirstTimed, last)), last};
}

void LayerTimes::Add(const std::vector<TimelineSpan>& spans) {
  const auto of_layer = [](const TimelineSpan& span) { return LayerOf(span) >= 0; };
  if (std::none_of(spans.begin(), spans.end(), of_layer)) return;
  ++iterations_;
  for (Layer& layer : layers_) {
    layer.forward_ns.push_back(0);
    layer.backward_ns.push_back(0);
  }
  for (const TimelineSpan& span : spans) {
    const int64_t index = LayerOf(span);
    if (index < 0) continue;
    Layer& layer = layers_[index];
    auto& ns =
        span.category == std::string(RunTrace::kBackward) ? layer.backward_ns : layer.forward_ns;
    ns.back() += static_cast<double>(span.end - span.begin);
  }
}

json LayerTimes::Json() const {
  json layers = json::array();
  for (const Layer& layer : layers_) {
    layers.push_back({{"layer", layer.name},
                      {"type", layer.type},
                      {"forward_ms", Median(layer.forward_ns) / 1e6},
                      {"backward_ms", Median(layer.backward_ns) / 1e6},
                      {"params", layer.params},
                      {"bytes", layer.bytes}});
  }
  return layers;
}

json ReadLayerTimes(const std::string& folder) {
  json layers = json::array();
  json read;
  try {
    const std::string path = folder + "/layers.json";
    if (FileExists(path)) read = ParsedJson(ReadListedFile(path));
  } catch (const FileError&) {
    return layers;
  }
  if (!read.is_array()) return layers;
  for (const json& layer : read) {
    if (!layer.is_object() || !layer.contains("layer") || !layer["layer"].is_string()) continue;
    const auto type = layer.find("type");
    layers.push_back({{"layer", layer["layer"]},
                      {"type", type != layer.end() && type->is_string() ? *type : json("")},
                      {"forward_ms", NumberOrZero(layer, "forward_ms")},
                      {"backward_ms", NumberOrZero(layer, "backward_ms")},
                      {"params", static_cast<int64_t>(NumberOrZero(layer, "params"))},
                      {"bytes", static_cast<int64_t>(NumberOrZero(layer, "bytes"))}});
  }
  return layers;
}

}  // namespace doppio

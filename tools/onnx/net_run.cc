#include "tools/onnx/net_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/channel_scale.h"
#include "core/base/random.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/run/net.h"
#include "tools/onnx/image_notes.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

// Returns the values for which the layers that read an edge, also through others, are defined.
OnnxRange RangeOf(const Graph& graph, int edge) {
  for (const Use& use : graph.edges[edge].uses) {
    const LayerParameter& layer = graph.layer(use.node).param;
    const Node& node = graph.nodes[use.node];
    const OnnxMapping* mapping = FindOnnxMapping(layer.type());
    if (mapping == nullptr) continue;
    if (mapping->range != nullptr) {
      const Shape& first = graph.edges[node.bottoms[0]].shape;
      const OnnxRange range = mapping->range(layer, use.bottom, first);
      if (range.below > 0) return range;
    }
    if (mapping->role != OnnxRole::kMoves) continue;
    for (const int top : node.tops) {
      const OnnxRange range = RangeOf(graph, top);
      if (range.below > 0) return range;
    }
  }
  return {};
}

std::vector<float> RandomValues(const Shape& shape, const OnnxRange& range, const Random& random,
                                uint64_t run) {
  std::vector<float> values(shape.count());
  for (size_t i = 0; i < values.size(); ++i) {
    const double unit = random.Uniform(run, i);
    double value = 2 * unit - 1;
    if (range.below > 0) value = std::floor(unit * static_cast<double>(range.below));
    const size_t column = i % 5;
    if (range.width > 0 && column > 0) {
      // Left and top are in the first half, right and bottom in the second, so that no region is
      // empty.
      const double extent = column % 2 == 1 ? range.width : range.height;
      value = std::floor((unit + (column > 2 ? 1 : 0)) * (extent - 1) / 2);
    }
    values[i] = static_cast<float>(value);
  }
  return values;
}

// Returns the values of random pixels, prepared as the net's images are.
std::vector<float> RandomPixels(const Shape& shape, const Preprocessing& images,
                                const Random& random, uint64_t run) {
  const int64_t plane = shape.count(2), channels = shape[1];
  std::vector<float> values(shape.count());
  const ChannelScale scale(images);
  for (int64_t i = 0; i < shape.count(); ++i) {
    const int channel = static_cast<int>(i / plane % channels);
    const int of_mean = images.mean_size() == 1 ? 0 : channel;
    const float mean = of_mean < images.mean_size() ? images.mean(of_mean) : 0;
    constexpr float kPixels = 256;
    const float pixel = std::floor(kPixels * random.Uniform(run, static_cast<uint64_t>(i)));
    values[i] = (pixel - mean) * scale.Of(channel);
  }
  return values;
}

}  // namespace

NetSpec RunnableNet(const Graph& graph) {
  NetSpec net = graph.spec;
  net.layers.clear();
  std::set<std::string> made;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    LayerSpec layer = graph.layer(static_cast<int>(i));
    const auto& bottoms = layer.param.bottom();
    const OnnxMapping* const mapping = FindOnnxMapping(layer.type());
    if ((mapping != nullptr && mapping->add == nullptr) ||
        !std::all_of(bottoms.begin(), bottoms.end(),
                     [&](const std::string& bottom) { return made.count(bottom) > 0; })) {
      continue;
    }
    made.insert(layer.param.top().begin(), layer.param.top().end());
    if (!graph.nodes[i].bottoms.empty() || !graph.nodes[i].params.empty()) {
      net.layers.push_back(layer);
      continue;
    }
    for (const int top : graph.nodes[i].tops) {
      const Edge& edge = graph.edges[top];
      for (const char* type : {"Input", "Split"}) {
        LayerSpec part = layer;
        part.param.Clear();
        part.param.set_name(type + ("/" + edge.name));
        part.param.set_type(type);
        const bool input = type == std::string("Input");
        part.param.add_top(input ? kGivenPrefix + edge.name : edge.name);
        if (input) {
          BlobShape* shape = part.param.mutable_input_param()->add_shape();
          for (const int64_t dim : edge.shape.dims()) shape->add_dim(dim);
        } else {
          part.param.add_bottom(kGivenPrefix + edge.name);
        }
        net.layers.push_back(part);
      }
    }
  }
  return net;
}

std::vector<float> RandomInput(const Graph& graph, const Graph& runnable, const std::string& blob,
                               uint64_t seed, uint64_t run) {
  const Random random(seed, Stream("verify", blob));
  const Shape& shape = graph.edges[graph.FindEdge(blob)].shape;
  const OnnxRange range = RangeOf(runnable, runnable.FindEdge(kGivenPrefix + blob));
  const std::map<std::string, Preprocessing> images = ImageInputs(graph);
  const auto found = images.find(blob);
  if (range.below > 0 || found == images.end() || shape.rank() != 4)
    return RandomValues(shape, range, random, run);
  return RandomPixels(shape, found->second, random, run);
}

NetRun RunOnRandomInput(const Graph& graph, ParamStore* params, const OnnxContent& content) {
  PlanOptions plan;
  plan.device = params->device();
  plan.keep_all = true;
  Net net(MakeGraph(RunnableNet(graph)), plan, params);
  NetRun run;
  for (size_t i = 0; i < content.inputs.size(); ++i) {
    const Edge& edge = graph.edges[content.inputs[i]];
    std::vector<float> values = RandomInput(graph, net.graph(), edge.name, 1, 0);
    WriteTensor(values, net.Blob(kGivenPrefix + edge.name), plan.device);
    run.inputs.push_back(
        {content.graph.input(static_cast<int>(i)).name(), edge.shape, nullptr, std::move(values)});
  }
  net.Forward();
  for (size_t i = 0; i < content.outputs.size(); ++i) {
    const Edge& edge = graph.edges[content.outputs[i]];
    PlainBlob blob = ReadTensor(net.Blob(edge.name), plan.device);
    run.outputs.push_back({content.graph.output(static_cast<int>(i)).name(), blob.shape, nullptr,
                           std::move(blob.data)});
  }
  for (auto* arrays : {&run.inputs, &run.outputs}) {
    for (NamedArray& array : *arrays) array.data = array.own.data();
  }
  return run;
}

}  // namespace doppio

#include "tools/onnx_import/import_graph.h"

#include <utility>

#include "core/base/file_limits.h"
#include "tools/onnx_import/turned_images.h"

namespace doppio {
namespace {

// Nodes may spend this many bytes for shapes and masks, and this multiple of the stored constants
// for the conversion of weights.
constexpr int64_t kFreeBytes = int64_t{1} << 27, kSpentPerStored = 8;

void SetShape(const Shape& shape, BlobShape* to) {
  to->clear_dim();
  for (const int64_t dim : shape.dims()) to->add_dim(dim);
}

LayerParameter InputOf(const std::string& blob, const Shape& shape) {
  LayerParameter layer;
  layer.set_name(blob);
  layer.set_type("Input");
  layer.add_top(blob);
  SetShape(shape, layer.mutable_input_param()->add_shape());
  return layer;
}

// Returns the shapes of the tops of `layer`, whose bottoms are `bottoms`. Checks its weights.
// Throws UserError.
std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<ImportValue>& bottoms) {
  NetParameter net;
  std::set<std::string> made;
  for (const ImportValue& bottom : bottoms) {
    if (made.insert(bottom.blob).second) *net.add_layer() = InputOf(bottom.blob, bottom.shape);
  }
  *net.add_layer() = layer;
  const Graph graph = CheckShapes(net);
  const Node& node = graph.nodes.back();
  std::vector<Shape> shapes;
  for (const int top : node.tops) shapes.push_back(graph.edges[top].shape);
  return shapes;
}

// Returns where the samples lie in a top of `layer`, unless it is a view.
SamplePlace PlaceBehind(const LayerParameter& layer, const std::vector<ImportValue>& bottoms,
                        const Shape& top) {
  for (const ImportValue& bottom : bottoms) {
    const SamplePlace& place = bottom.samples;
    if (!place.known()) continue;
    if (layer.type() == "Permute") {
      const auto& order = layer.permute_param().order();
      return PermutedPlace(place, {order.begin(), order.end()});
    }
    // MatMul aligns the last axes of its bottoms, all other layers the first ones.
    const int axis = place.axis + (layer.type() == "MatMul" ? top.rank() - bottom.shape.rank() : 0);
    if (axis < top.rank() && top[axis] == bottom.shape[place.axis])
      return {axis, place.count, place.minor};
  }
  return {};
}

Shape Ordered(const Shape& shape, const std::vector<int64_t>& order) {
  Shape ordered;
  for (const int64_t axis : order) ordered.push_back(shape[static_cast<int>(axis)]);
  return ordered;
}

}  // namespace

Graph CheckShapes(const NetParameter& net) {
  NetParameter plain;  // without the weights, which would be copied
  for (const LayerParameter& layer : net.layer()) {
    *plain.add_layer() = layer;
    plain.mutable_layer(plain.layer_size() - 1)->clear_blobs();
  }
  Graph graph = MakeGraph(MakeNetSpec(plain, FieldPlaces(), NetState(), NetOptions()));
  for (int layer = 0; layer < net.layer_size(); ++layer) {
    const std::vector<Shape>& expected = graph.nodes[layer].param_shapes;
    for (int i = 0; i < net.layer(layer).blobs_size(); ++i) {
      const auto& dims = net.layer(layer).blobs(i).shape().dim();
      const Shape stored(std::vector<int64_t>(dims.begin(), dims.end()));
      if (i >= static_cast<int>(expected.size()) || expected[i] != stored)
        throw UserError({}, "its constant ", i, " is ", stored.ToString());
    }
  }
  return graph;
}

ImportValue AsStored(ImportValue value) {
  if (value.turned()) {
    value.shape = Ordered(value.shape, kChannelsFirst);
    value.samples = PermutedPlace(value.samples, kChannelsFirst);
  }
  value.turned_by.clear();
  return value;
}

ImportValue ChannelsLast(ImportValue stored, const std::string& layer) {
  stored.shape = Ordered(stored.shape, kChannelsLast);
  stored.samples = PermutedPlace(stored.samples, kChannelsLast);
  stored.turned_by = layer;
  return stored;
}

ImportGraph::ImportGraph(const onnx::GraphProto& graph, int opset) : opset_(opset) {
  net_.set_name(graph.name());
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& input : node.input()) ++readers_[input];
    if (node.op_type() == "Conv" && node.input_size() > 0) ++convolutions_[node.input(0)];
  }
  for (const onnx::ValueInfoProto& output : graph.output()) ++readers_[output.name()];
  for (const onnx::NodeProto& node : graph.node()) {
    if (IsTurn(node) && IsOnlyConvolved(node.output(0), false))
      ++turned_convolutions_[node.input(0)];
  }
}

int ImportGraph::Readers(const std::string& value) const {
  const auto found = readers_.find(value);
  return found == readers_.end() ? 0 : found->second;
}

bool ImportGraph::IsOnlyConvolved(const std::string& value, bool turned) const {
  const std::map<std::string, int>& nodes = turned ? turned_convolutions_ : convolutions_;
  const auto found = nodes.find(value);
  return found != nodes.end() && found->second == Readers(value);
}

const ImportValue* ImportGraph::Find(const std::string& value) const {
  const auto found = values_.find(value);
  return found == values_.end() ? nullptr : &found->second;
}

const ImportValue& ImportGraph::InOrder(const std::string& value) {
  const ImportValue& content = values_.at(value);
  if (!content.turned()) return content;
  const auto found = permuted_.find(value);
  if (found != permuted_.end()) return found->second;
  LayerParameter layer;
  layer.set_type("Permute");
  for (const int64_t axis : kChannelsLast)
    layer.mutable_permute_param()->add_order(static_cast<uint32_t>(axis));
  return permuted_[value] = Add(layer, content.turned_by, {AsStored(content)}, {value})[0];
}

void ImportGraph::SetStored(const std::string& value, OnnxArray constant) {
  stored_bytes_ += constant.bytes();
  CheckBytes("the sum of the model's constants", stored_bytes_);
  const Shape shape = constant.shape;
  Set(value, {"", shape, std::move(constant), {}, "", {}});
}

bool ImportGraph::Spend(int64_t bytes) {
  if (bytes > kFreeBytes + kSpentPerStored * stored_bytes_ - spent_bytes_) return false;
  spent_bytes_ += bytes;
  return true;
}

std::string ImportGraph::Names::Unique(const std::string& wish) {
  std::string name = wish;
  while (!taken.insert(name).second) {
    int& number = numbers.emplace(wish, 2).first->second;
    name = wish + "_" + std::to_string(number++);
  }
  return name;
}

void ImportGraph::AddInput(const std::string& value, const Shape& shape, bool turned) {
  ImportValue input;
  input.blob = blobs_.Unique(value);
  input.shape = turned ? Ordered(shape, kChannelsFirst) : shape;
  if (shape.rank() > 0) input.samples = {0, shape[0], 1};
  layers_.taken.insert(input.blob);
  producers_[input.blob] = net_.layer_size();
  *net_.add_layer() = InputOf(input.blob, input.shape);
  Set(value, turned ? ChannelsLast(input, value + "_channels_last") : input);
}

std::vector<ImportValue> ImportGraph::Add(LayerParameter layer, const std::string& name,
                                          const std::vector<ImportValue>& bottoms,
                                          const std::vector<std::string>& tops) {
  for (const BlobProto& blob : layer.blobs()) {
    if (!Spend(int64_t{blob.data_size()} * int64_t{sizeof(float)}))
      throw UserError({}, "too many layers have copies of the model's constants");
  }
  layer.set_name(layers_.Unique(name));
  for (const ImportValue& bottom : bottoms) {
    DOPPIO_CHECK(!bottom.turned(), bottom.blob);
    layer.add_bottom(bottom.blob);
  }
  for (const std::string& top : tops) layer.add_top(blobs_.Unique(top));
  const std::vector<Shape> shapes = TopShapes(layer, bottoms);
  std::vector<ImportValue> values;
  for (int i = 0; i < layer.top_size(); ++i) {
    values.push_back({layer.top(i), shapes[i], {}, {}, "", PlaceBehind(layer, bottoms, shapes[i])});
    producers_[layer.top(i)] = net_.layer_size();
  }
  net_.add_layer()->Swap(&layer);
  return values;
}

LayerParameter* ImportGraph::Producer(const std::string& blob) {
  return net_.mutable_layer(producers_.at(blob));
}

}  // namespace doppio

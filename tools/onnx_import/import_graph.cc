#include "tools/onnx_import/import_graph.h"

#include <utility>

#include "core/net/graph/graph.h"

namespace doppio {
namespace {

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
  net.mutable_layer(net.layer_size() - 1)->clear_blobs();
  const Graph graph = MakeGraph(MakeNetSpec(net, FieldPlaces(), NetState(), NetOptions()));
  const Node& node = graph.nodes.back();
  for (int i = 0; i < layer.blobs_size(); ++i) {
    const Shape stored(std::vector<int64_t>(layer.blobs(i).shape().dim().begin(),
                                            layer.blobs(i).shape().dim().end()));
    if (i >= static_cast<int>(node.param_shapes.size()) || node.param_shapes[i] != stored)
      throw UserError({}, "its constant " + std::to_string(i) + " is " + stored.ToString());
  }
  std::vector<Shape> shapes;
  for (const int top : node.tops) shapes.push_back(graph.edges[top].shape);
  return shapes;
}

}  // namespace

ImportGraph::ImportGraph(const onnx::GraphProto& graph, int opset) : opset_(opset) {
  net_.set_name(graph.name());
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& input : node.input()) ++readers_[input];
    if (node.op_type() == "Conv" && node.input_size() > 0) ++convolutions_[node.input(0)];
  }
  for (const onnx::ValueInfoProto& output : graph.output()) ++readers_[output.name()];
}

int ImportGraph::Readers(const std::string& value) const {
  const auto found = readers_.find(value);
  return found == readers_.end() ? 0 : found->second;
}

bool ImportGraph::IsOnlyConvolved(const std::string& value) const {
  const auto found = convolutions_.find(value);
  return found != convolutions_.end() && found->second == Readers(value);
}

const ImportValue* ImportGraph::Find(const std::string& value) const {
  const auto found = values_.find(value);
  return found == values_.end() ? nullptr : &found->second;
}

std::string ImportGraph::Unique(const std::string& wish, std::set<std::string>* taken) {
  std::string name = wish;
  for (int i = 2; !taken->insert(name).second; ++i) name = wish + "_" + std::to_string(i);
  return name;
}

void ImportGraph::AddInput(const std::string& value, const Shape& shape) {
  const std::string name = Unique(value, &blob_names_);
  layer_names_.insert(name);
  producers_[name] = net_.layer_size();
  *net_.add_layer() = InputOf(name, shape);
  Set(value, {name, shape, {}, {}});
}

std::vector<ImportValue> ImportGraph::Add(LayerParameter layer, const std::string& name,
                                          const std::vector<ImportValue>& bottoms,
                                          const std::vector<std::string>& tops) {
  layer.set_name(Unique(name, &layer_names_));
  for (const ImportValue& bottom : bottoms) layer.add_bottom(bottom.blob);
  for (const std::string& top : tops) layer.add_top(Unique(top, &blob_names_));
  const std::vector<Shape> shapes = TopShapes(layer, bottoms);
  std::vector<ImportValue> values;
  for (int i = 0; i < layer.top_size(); ++i) {
    values.push_back({layer.top(i), shapes[i], {}, {}});
    producers_[layer.top(i)] = net_.layer_size();
  }
  net_.add_layer()->Swap(&layer);
  return values;
}

LayerParameter* ImportGraph::Producer(const std::string& blob) {
  return net_.mutable_layer(producers_.at(blob));
}

}  // namespace doppio

#include "tools/onnx/onnx_graph.h"

#include <algorithm>

#include "tools/export/param_names.h"

namespace doppio {
namespace {

void SetAttribute(const OnnxAttribute& from, onnx::AttributeProto* to) {
  to->set_name(from.name);
  if (const auto* integer = std::get_if<int64_t>(&from.value)) {
    to->set_type(onnx::AttributeProto::INT);
    to->set_i(*integer);
  } else if (const auto* number = std::get_if<float>(&from.value)) {
    to->set_type(onnx::AttributeProto::FLOAT);
    to->set_f(*number);
  } else if (const auto* text = std::get_if<std::string>(&from.value)) {
    to->set_type(onnx::AttributeProto::STRING);
    to->set_s(*text);
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&from.value)) {
    to->set_type(onnx::AttributeProto::INTS);
    to->mutable_ints()->Add(integers->begin(), integers->end());
  } else {
    to->set_type(onnx::AttributeProto::GRAPH);
    *to->mutable_g() = std::get<onnx::GraphProto>(from.value);
  }
}

// Collects the values that a node and its subgraphs read, including values made in the subgraphs.
void CollectReads(const onnx::NodeProto& node, std::set<std::string>* read) {
  read->insert(node.input().begin(), node.input().end());
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    for (const onnx::NodeProto& inner : attribute.g().node()) CollectReads(inner, read);
  }
}

// Declares a value of floats. Its shape stays unset, which means any shape.
void SetFloats(const std::string& name, onnx::ValueInfoProto* end) {
  end->set_name(name);
  end->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
}

int64_t IntegerOf(const onnx::NodeProto& node, const std::string& name, int64_t otherwise) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return attribute.i();
  }
  return otherwise;
}

bool IsProduct(const std::string& op) {
  return op == "Conv" || op == "ConvTranspose" || op == "Gemm";
}

// Returns the output channel of element i of a convolution's or matrix product's weights.
int64_t ChannelOf(const onnx::NodeProto& node, const Shape& weights, int64_t channels, int64_t i) {
  const bool by_column = node.op_type() == "Gemm" && IntegerOf(node, "transB", 0) == 0;
  if (by_column) return i % channels;
  if (node.op_type() != "ConvTranspose") return i / weights.count(1);
  const int64_t inputs_in_group = weights[0] / IntegerOf(node, "group", 1);
  return i / weights.count(1) / inputs_in_group * weights[1] + i / weights.count(2) % weights[1];
}

// Describes an input or output of the graph. Its first extent is the symbol "N" if `batch` is true.
void DescribeEnd(const Shape& shape, const std::string& name, bool batch,
                 onnx::ValueInfoProto* end) {
  SetFloats(name, end);
  auto* tensor = end->mutable_type()->mutable_tensor_type();
  tensor->mutable_shape();  // a scalar has a shape without extents
  for (int axis = 0; axis < shape.rank(); ++axis) {
    auto* dim = tensor->mutable_shape()->add_dim();
    batch&& axis == 0 ? dim->set_dim_param("N") : dim->set_dim_value(shape[axis]);
  }
}

}  // namespace

OnnxGraph::OnnxGraph(const Graph& graph, const WeightTensors& weights)
    : net_(graph), weights_(weights), values_(graph.edges.size()) {
  // Reserves the names of blobs; other values that would get the same name are numbered.
  for (const Edge& edge : graph.edges) taken_.insert(edge.name);
}

std::string OnnxGraph::Unique(const std::string& wish) {
  std::string name = wish;
  for (int i = 1; !taken_.insert(name).second; ++i) name = wish + "_" + std::to_string(i);
  return name;
}

std::vector<std::string> OnnxGraph::Add(int layer, const std::string& op,
                                        const std::vector<std::string>& inputs,
                                        const OnnxAttributes& attributes, int outputs) {
  onnx::NodeProto node;
  node.set_op_type(op);
  node.set_name(Unique(net_.layer(layer).name() + "/" + op));
  for (const std::string& input : inputs) node.add_input(input);
  for (const OnnxAttribute& attribute : attributes) SetAttribute(attribute, node.add_attribute());
  std::vector<std::string> names;
  for (int i = 0; i < outputs; ++i) {
    names.push_back(Unique(node.name() + ":" + std::to_string(i)));
    node.add_output(names.back());
    producers_[names.back()] = nodes_.size();
  }
  nodes_.push_back(std::move(node));
  return names;
}

std::string OnnxGraph::Add(OnnxConstant constant) {
  constant.name = Unique(constant.name);
  const std::string name = constant.name;
  constants_[name] = std::move(constant);
  return name;
}

onnx::GraphProto OnnxGraph::MakeBody(
    int layer, int inputs,
    const std::function<std::vector<std::string>(const std::vector<std::string>&)>& fill) {
  onnx::GraphProto body;
  body.set_name(Unique(net_.layer(layer).name() + "/body"));
  std::vector<std::string> names;
  for (int i = 0; i < inputs; ++i) {
    names.push_back(Unique(body.name() + ":" + std::to_string(i)));
    SetFloats(names.back(), body.add_input());
  }
  std::vector<onnx::NodeProto> outer;
  outer.swap(nodes_);
  for (const std::string& output : fill(names)) SetFloats(output, body.add_output());
  outer.swap(nodes_);
  for (onnx::NodeProto& node : outer) *body.add_node() = std::move(node);
  return body;
}

std::string OnnxGraph::AddWeight(int param) {
  std::string& name = weight_names_[param];
  if (!name.empty()) return name;
  const float* values = weights_.values[param].data<float>();
  return name = Add({ParamName(net_, param), net_.params[param].shape, {}, values});
}

void OnnxGraph::AddInput(int edge) {
  inputs_.push_back(edge);
  Tie(edge, net_.edges[edge].name);
}

void OnnxGraph::Tie(int edge, const std::string& value) {
  const int layer = net_.edges[edge].producer;
  const bool passed_on = std::find(values_.begin(), values_.end(), value) != values_.end();
  values_[edge] = value;
  if (passed_on) tied_by_[value].insert(layer);
}

const std::string& OnnxGraph::ValueOf(int edge) const {
  DOPPIO_CHECK(IsTied(edge), net_.edges[edge].name);
  return values_[edge];
}

bool OnnxGraph::IsInput(int edge) const {
  return std::find(inputs_.begin(), inputs_.end(), edge) != inputs_.end();
}

// Returns the number of layers that read a value through any edge. A layer that only passes the
// value on does not count; an edge without readers, which may be an output, counts as one.
int OnnxGraph::Readers(const std::string& value) const {
  int readers = 0;
  for (size_t edge = 0; edge < values_.size(); ++edge) {
    if (values_[edge] != value) continue;
    readers += std::max(1, static_cast<int>(net_.edges[edge].uses.size()));
  }
  const auto passed_on = tied_by_.find(value);
  return passed_on == tied_by_.end() ? readers
                                     : readers - static_cast<int>(passed_on->second.size());
}

OnnxConstant& OnnxGraph::Find(const std::string& constant) {
  const auto found = constants_.find(constant);
  DOPPIO_CHECK(found != constants_.end(), constant);
  return found->second;
}

// Adds a new constant instead of changing the old one, which other nodes may read.
void OnnxGraph::SetInput(onnx::NodeProto* node, int input, std::vector<float> values,
                         const Shape& shape) {
  const bool replaces = input < node->input_size();
  const std::string name =
      Add({replaces ? node->input(input) : node->name() + ".bias", shape, std::move(values)});
  replaces ? node->set_input(input, name) : node->add_input(name);
}

void OnnxGraph::ScaleProduct(onnx::NodeProto* node, const std::vector<double>& factor,
                             const std::vector<double>& shift) {
  const OnnxConstant& weights = Find(node->input(1));
  const int64_t channels = static_cast<int64_t>(factor.size());
  std::vector<float> scaled(weights.data(), weights.data() + weights.shape.count());
  for (size_t i = 0; i < scaled.size(); ++i) {
    const int64_t channel = ChannelOf(*node, weights.shape, channels, static_cast<int64_t>(i));
    scaled[i] = static_cast<float>(static_cast<double>(scaled[i]) * factor[channel]);
  }
  std::vector<float> bias;
  for (size_t c = 0; c < factor.size(); ++c) {
    const double old =
        node->input_size() > 2 ? static_cast<double>(Find(node->input(2)).data()[c]) : 0;
    bias.push_back(static_cast<float>(old * factor[c] + shift[c]));
  }
  const Shape shape = weights.shape;
  SetInput(node, 1, std::move(scaled), shape);
  SetInput(node, 2, std::move(bias), {channels});
}

bool OnnxGraph::Absorb(int edge, const std::vector<double>& factor,
                       const std::vector<double>& shift, bool into_products) {
  const std::string& value = ValueOf(edge);
  const auto producer = producers_.find(value);
  if (producer == producers_.end() || Readers(value) != 1) return false;
  onnx::NodeProto* node = &nodes_[producer->second];
  if (into_products && IsProduct(node->op_type())) {
    ScaleProduct(node, factor, shift);
    return true;
  }
  if (node->op_type() != "BatchNormalization") return false;
  constexpr int kScale = 1, kShift = 2;
  const Shape channels{static_cast<int64_t>(factor.size())};
  std::vector<float> scales, shifts;
  for (size_t c = 0; c < factor.size(); ++c) {
    const double scale = static_cast<double>(Find(node->input(kScale)).data()[c]);
    const double old = static_cast<double>(Find(node->input(kShift)).data()[c]);
    scales.push_back(static_cast<float>(scale * factor[c]));
    shifts.push_back(static_cast<float>(old * factor[c] + shift[c]));
  }
  SetInput(node, kScale, std::move(scales), channels);
  SetInput(node, kShift, std::move(shifts), channels);
  return true;
}

// Returns the new names of values. The value of an output gets the name of its blob; any other
// value gets the name of the first blob of whose last version it is the value.
std::map<std::string, std::string> OnnxGraph::BlobNames(const std::vector<int>& outputs) {
  std::map<std::string, std::string> names;
  std::set<std::string> used;
  for (const int input : inputs_) used.insert(net_.edges[input].name);
  const auto name_after = [&](int edge) {
    const std::string& value = values_[edge];
    const std::string& blob = net_.edges[edge].name;
    if (producers_.count(value) == 0 || names.count(value) > 0) return;
    if (net_.FindEdge(blob) == edge && used.insert(blob).second) names[value] = blob;
  };
  for (const int output : outputs) name_after(output);
  for (size_t edge = 0; edge < values_.size(); ++edge) {
    if (!values_[edge].empty()) name_after(static_cast<int>(edge));
  }
  return names;
}

OnnxContent OnnxGraph::Finish(const std::vector<int>& outputs, const std::vector<bool>& batch) {
  const std::map<std::string, std::string> names = BlobNames(outputs);
  const auto renamed = [&](const std::string& value) {
    const auto found = names.find(value);
    return found == names.end() ? value : found->second;
  };
  for (onnx::NodeProto& node : nodes_) {
    for (std::string& input : *node.mutable_input()) input = renamed(input);
    for (std::string& output : *node.mutable_output()) output = renamed(output);
  }
  OnnxContent content;
  content.outputs = outputs;
  content.graph.set_name(net_.spec.name.empty() ? "net" : net_.spec.name);  // ONNX requires a name
  std::set<std::string> used;
  for (const int output : outputs) {
    // A constant, an input, or a value that already is another output needs a node that copies it.
    const std::string& blob = net_.edges[output].name;
    std::string value = renamed(ValueOf(output));
    if (value != blob || IsInput(output)) {
      const int layer = net_.edges[output].producer;
      const std::string copy = Add(layer, "Identity", {value}, {}, 1)[0];
      const bool free = std::none_of(inputs_.begin(), inputs_.end(),
                                     [&](int input) { return net_.edges[input].name == blob; });
      value = free ? blob : copy;
      *nodes_.back().mutable_output(0) = value;
    }
    DescribeEnd(net_.edges[output].shape, value, batch[output], content.graph.add_output());
  }
  for (const onnx::NodeProto& node : nodes_) {
    CollectReads(node, &used);
    *content.graph.add_node() = node;
  }
  for (const int input : inputs_) {
    const std::string& blob = net_.edges[input].name;
    if (used.count(blob) > 0) {
      DescribeEnd(net_.edges[input].shape, blob, batch[input], content.graph.add_input());
      content.inputs.push_back(input);
    }
  }
  for (auto& constant : constants_) {
    if (used.count(constant.first) > 0) content.constants.push_back(std::move(constant.second));
  }
  return content;
}

}  // namespace doppio

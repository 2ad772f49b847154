// An ONNX graph in the making: nodes, and the values between them. Every edge of the net (a version
// of a blob) that an export keeps is tied to a value; a layer that computes nothing ties its top to
// its bottom's value. Finish names values after blobs and drops constants that nobody reads.
#ifndef DOPPIO_TOOLS_ONNX_ONNX_GRAPH_H_
#define DOPPIO_TOOLS_ONNX_ONNX_GRAPH_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/net/graph/graph.h"
#include "core/net/store/weights.h"
#include "proto/onnx.pb.h"

namespace doppio {

struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, onnx::GraphProto> value;
};
using OnnxAttributes = std::vector<OnnxAttribute>;

// An array that is part of the graph: floats, its own or somebody's that live longer, or integers
// (axes, extents).
struct OnnxConstant {
  std::string name;
  Shape shape;
  std::vector<float> floats;
  const float* elsewhere = nullptr;  // instead of `floats`
  std::vector<int64_t> integers;     // instead of either
  bool is_integers = false;

  const float* data() const { return elsewhere != nullptr ? elsewhere : floats.data(); }
};

// What is written: a graph without its constants, which may be large, and these.
struct OnnxContent {
  onnx::GraphProto graph;
  std::vector<OnnxConstant> constants;
  std::vector<int> inputs, outputs;  // the edges of graph.input() and graph.output()
};

class OnnxGraph {
 public:
  // The weights are those of graph.params, plain floats on the host. Both outlive this.
  OnnxGraph(const Graph& graph, const WeightTensors& weights);

  const Graph& net() const { return net_; }
  const WeightTensors& weights() const { return weights_; }

  // A node for net layer `layer`; returns the names of its `outputs` values.
  std::vector<std::string> Add(int layer, const std::string& op,
                               const std::vector<std::string>& inputs,
                               const OnnxAttributes& attributes, int outputs);
  // `constant.name` is where its name begins.
  std::string Add(OnnxConstant constant);
  // A graph that a node of `layer` runs: `fill` gets the names of its `inputs` values, adds its
  // nodes and returns its outputs, each made by a node of its own. It may read constants of this
  // graph.
  onnx::GraphProto MakeBody(
      int layer, int inputs,
      const std::function<std::vector<std::string>(const std::vector<std::string>&)>& fill);
  // The parameter graph.params[param] as it is.
  std::string AddWeight(int param);
  void AddInput(int edge);

  void Tie(int edge, const std::string& value);
  bool IsTied(int edge) const { return !values_[static_cast<size_t>(edge)].empty(); }
  const std::string& ValueOf(int edge) const;
  bool IsInput(int edge) const;

  // Makes the layer that wrote `edge` compute factor * x + shift, for each channel (axis 1), in
  // place of what it does now; false where it cannot: another reader wants the value as it is, or
  // it is no BatchNormalization and, where `into_products`, no convolution or matrix product
  // either.
  bool Absorb(int edge, const std::vector<double>& factor, const std::vector<double>& shift,
              bool into_products);

  // The outputs are edges that are tied. With `dynamic_batch` the first extent of inputs and
  // outputs is "N" where `batch` says so of the edge.
  OnnxContent Finish(const std::vector<int>& outputs, const std::vector<bool>& batch);

 private:
  std::string Unique(const std::string& wish);
  int Readers(const std::string& value) const;
  OnnxConstant& Find(const std::string& constant);
  void SetInput(onnx::NodeProto* node, int input, std::vector<float> values, const Shape& shape);
  void ScaleProduct(onnx::NodeProto* node, const std::vector<double>& factor,
                    const std::vector<double>& shift);
  std::map<std::string, std::string> BlobNames(const std::vector<int>& outputs);
  void AddEnd(int edge, const std::string& name, bool batch, onnx::ValueInfoProto* end) const;

  const Graph& net_;
  const WeightTensors& weights_;
  std::set<std::string> taken_;
  std::vector<std::string> values_;  // of each edge; "" = not tied
  std::vector<int> inputs_;          // edges
  std::vector<onnx::NodeProto> nodes_;
  std::map<std::string, size_t> producers_;  // of values, in nodes_
  // Net layers that gave a value to their tops, but for the producer.
  std::map<std::string, std::set<int>> tied_by_;
  std::map<std::string, OnnxConstant> constants_;  // by name
  std::map<int, std::string> weight_names_;        // by parameter
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_ONNX_GRAPH_H_

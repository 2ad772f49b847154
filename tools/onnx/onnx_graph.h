// Builds an ONNX graph from nodes and the values between them. Every edge of the net (a version of
// a blob) that is exported is tied to a value; a layer that computes nothing ties its top to its
// bottom's value. Finish() renames values after blobs and drops constants that no node reads.
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

// A constant array of the graph: integers (axes, extents) or floats. The floats are owned, or
// belong to an array that must outlive the constant.
struct OnnxConstant {
  std::string name;
  Shape shape;
  std::vector<float> floats;
  const float* elsewhere = nullptr;    // not owned; used instead of `floats`
  std::vector<int64_t> integers = {};  // used instead of both if `is_integers`
  bool is_integers = false;

  const float* data() const { return elsewhere != nullptr ? elsewhere : floats.data(); }
};

// The finished graph. Constants, which may be large, are kept outside the message.
struct OnnxContent {
  onnx::GraphProto graph;
  std::vector<OnnxConstant> constants;
  std::vector<int> inputs, outputs;  // net edges of graph.input() and graph.output()
};

class OnnxGraph {
 public:
  // `weights` holds the values of graph.params as plain floats on the host. `graph` and `weights`
  // must outlive this object.
  OnnxGraph(const Graph& graph, const WeightTensors& weights);

  const Graph& net() const { return net_; }
  const WeightTensors& weights() const { return weights_; }

  // Adds a node for net layer `layer` and returns the names of its `outputs` output values.
  std::vector<std::string> Add(int layer, const std::string& op,
                               const std::vector<std::string>& inputs,
                               const OnnxAttributes& attributes, int outputs);
  // Adds a constant and returns its name, which is `constant.name`, with a number appended if that
  // name is taken.
  std::string Add(OnnxConstant constant);
  // Returns a subgraph for a node of `layer`, such as the body of a Scan. `fill` receives the names
  // of the subgraph's `inputs` inputs, adds its nodes, and returns its outputs; each output must be
  // made by a separate node. The subgraph may read constants of this graph.
  onnx::GraphProto MakeBody(
      int layer, int inputs,
      const std::function<std::vector<std::string>(const std::vector<std::string>&)>& fill);
  // Adds the parameter graph.params[param] in its stored shape, once, and returns its name.
  std::string AddWeight(int param);
  // Makes `edge` an input of the graph.
  void AddInput(int edge);

  // Declares that `edge` has the value `value`.
  void Tie(int edge, const std::string& value);
  bool IsTied(int edge) const { return !values_[edge].empty(); }
  // Returns the value of `edge`, which must be tied.
  const std::string& ValueOf(int edge) const;
  bool IsInput(int edge) const;

  // Tries to make the node that computes `edge` return factor * x + shift instead of x, per channel
  // (axis 1), and returns true if it does. This requires that no other layer reads the value, and
  // that the node is a BatchNormalization or, if `into_products`, a convolution or matrix product.
  bool Absorb(int edge, const std::vector<double>& factor, const std::vector<double>& shift,
              bool into_products);

  // Returns the finished graph. `outputs` are tied edges. The first extent of an input or output is
  // the symbol "N" if `batch[edge]` is true. Call it once; it moves the constants out.
  OnnxContent Finish(const std::vector<int>& outputs, const std::vector<bool>& batch);

 private:
  std::string Unique(const std::string& wish);
  int Readers(const std::string& value) const;
  OnnxConstant& Find(const std::string& constant);
  void SetInput(onnx::NodeProto* node, int input, std::vector<float> values, const Shape& shape);
  void ScaleProduct(onnx::NodeProto* node, const std::vector<double>& factor,
                    const std::vector<double>& shift);
  std::map<std::string, std::string> BlobNames(const std::vector<int>& outputs);

  const Graph& net_;
  const WeightTensors& weights_;
  std::set<std::string> taken_;
  std::vector<std::string> values_;  // name of each edge's value; "" = not tied
  std::vector<int> inputs_;          // net edges
  std::vector<onnx::NodeProto> nodes_;
  std::map<std::string, size_t> producers_;  // index in nodes_ of the node that makes a value
  // Maps a value to the net layers that tied another edge to it without computing anything.
  std::map<std::string, std::set<int>> tied_by_;
  std::map<std::string, OnnxConstant> constants_;  // keyed by name
  std::map<int, std::string> weight_names_;        // keyed by parameter index
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_ONNX_GRAPH_H_

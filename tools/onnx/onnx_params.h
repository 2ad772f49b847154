// The parameters of one layer in its conversion to ONNX: their values, and constants of the graph
// that hold them. Functions that add a constant return its name.
#ifndef DOPPIO_TOOLS_ONNX_ONNX_PARAMS_H_
#define DOPPIO_TOOLS_ONNX_ONNX_PARAMS_H_

#include <string>
#include <vector>

#include "tools/onnx/onnx_graph.h"

namespace doppio {

class OnnxParams {
 public:
  // `layer` is the index of the layer in graph->net(). The graph must outlive this object.
  OnnxParams(OnnxGraph* graph, int layer) : graph_(graph), layer_(layer) {}

  int count() const { return static_cast<int>(node().params.size()); }
  const Shape& shape(int i) const { return node().param_shapes[i]; }
  // Returns a copy of parameter i, in double precision or in single (T = float).
  template <class T = double>
  std::vector<T> Values(int i) const {
    const Tensor& value = graph_->weights().values[node().params[i]];
    return std::vector<T>(value.data<float>(), value.data<float>() + value.count());
  }
  // Returns the factor of BatchNorm's sums; see BatchNormFactor().
  double batch_norm_factor() const;

  // Adds parameter i, in its stored shape or in `shape`. Layers that share a parameter share the
  // constant if its shape is the stored one.
  std::string Constant(int i) const;
  std::string Constant(int i, const Shape& shape) const;
  // Adds parameter i, a scalar or a vector of channels, shaped to broadcast against a bottom of
  // `rank` axes with channels in axis 1.
  std::string PerChannel(int i, int rank) const;
  // Adds the transpose of parameter i, a matrix.
  std::string Transposed(int i) const;

 private:
  const Node& node() const { return graph_->net().nodes[layer_]; }

  OnnxGraph* graph_;
  int layer_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_ONNX_PARAMS_H_

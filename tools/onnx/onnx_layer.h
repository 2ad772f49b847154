// What a layer becomes in ONNX: one function for each layer type, in a registry that docs/export.md
// is checked against. Shapes are those that our own inference found, so everything that depends on
// them is written as numbers.
#ifndef DOPPIO_TOOLS_ONNX_ONNX_LAYER_H_
#define DOPPIO_TOOLS_ONNX_ONNX_LAYER_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/registry.h"
#include "tools/onnx/onnx_graph.h"

namespace doppio {

struct OnnxOptions {
  bool dynamic_batch = false;  // the first extent of inputs is left open
  bool fold_bn = false;        // BatchNorm and Scale go into the weights of the layer before
};

// One layer, for the function that adds it to the graph.
class OnnxLayer {
 public:
  OnnxLayer(OnnxGraph* graph, int node, const OnnxOptions& options)
      : options(options), graph_(graph), index_(node) {}

  const OnnxOptions& options;
  const LayerSpec& spec() const { return graph_->net().layer(index_); }
  const Node& node() const { return graph_->net().nodes[static_cast<size_t>(index_)]; }

  // The struct that the layer's `infer` has made (LayerShape::form).
  template <class T>
  const T& Form() const {
    return FormAs<T>(&node().shape.form, spec().type());
  }

  int bottoms() const { return static_cast<int>(node().bottoms.size()); }
  int tops() const { return static_cast<int>(node().tops.size()); }
  int bottom_edge(int i = 0) const { return node().bottoms[static_cast<size_t>(i)]; }
  const Shape& bottom(int i = 0) const { return ShapeOf(bottom_edge(i)); }
  const Shape& top(int i = 0) const { return ShapeOf(node().tops[static_cast<size_t>(i)]); }
  std::vector<Shape> bottom_shapes() const;
  const std::string& in(int i = 0) const { return graph_->ValueOf(bottom_edge(i)); }

  int params() const { return static_cast<int>(node().params.size()); }
  const Shape& param_shape(int i) const { return node().param_shapes[static_cast<size_t>(i)]; }
  std::vector<float> param(int i) const;
  std::vector<double> wide_param(int i) const;
  // As a constant: as it is stored, or of another shape.
  std::string weight(int i) const;
  std::string weight(int i, const Shape& shape) const;
  // A matrix, with rows and columns exchanged.
  std::string turned_weight(int i) const;
  double batch_norm_factor() const;

  std::string Floats(const Shape& shape, std::vector<float> values) const;
  std::string Scalar(double value) const { return Floats({}, {static_cast<float>(value)}); }
  std::string Integers(std::vector<int64_t> values) const;

  std::string Add(const std::string& op, const std::vector<std::string>& inputs,
                  const OnnxAttributes& attributes = {}) const {
    return graph_->Add(index_, op, inputs, attributes, 1)[0];
  }
  std::vector<std::string> AddSeveral(const std::string& op, const std::vector<std::string>& inputs,
                                      const OnnxAttributes& attributes, int outputs) const {
    return graph_->Add(index_, op, inputs, attributes, outputs);
  }
  // See OnnxGraph::MakeBody.
  onnx::GraphProto Body(
      int inputs,
      const std::function<std::vector<std::string>(const std::vector<std::string>&)>& fill) const {
    return graph_->MakeBody(index_, inputs, fill);
  }
  // The elements in the same order under another shape; the value itself where that is no change.
  std::string Reshape(const std::string& value, const Shape& from, const Shape& to) const;
  // `values`, which has the extents of axes from `axis` on, against all axes of `whole`.
  std::string Widen(const std::string& value, int axis, int rank, const Shape& whole) const;

  void SetTop(const std::string& value, int i = 0) const {
    graph_->Tie(node().tops[static_cast<size_t>(i)], value);
  }
  void SetInput(int i) const { graph_->AddInput(node().tops[static_cast<size_t>(i)]); }
  // See OnnxGraph::Absorb. When it says true, the top is the bottom's value.
  bool Absorb(const std::vector<double>& factor, const std::vector<double>& shift,
              bool into_products) const;

 private:
  const Shape& ShapeOf(int edge) const {
    return graph_->net().edges[static_cast<size_t>(edge)].shape;
  }

  OnnxGraph* graph_;
  int index_;
};

enum class OnnxRole {
  kComputes,
  kEnds,     // left out: it judges its bottoms, which are what the net computes
  kSilence,  // left out: nobody wants its bottoms
};

struct OnnxMapping {
  std::string words;                              // what it becomes, for docs/export.md
  void (*add)(const OnnxLayer& layer) = nullptr;  // kComputes; throws UserError where it cannot
  OnnxRole role = OnnxRole::kComputes;
};
using OnnxMappings = Registry<OnnxMapping>;

// The whole net. Throws all layers that have no form in ONNX at once.
OnnxContent MakeOnnx(const Graph& graph, const WeightTensors& weights,
                     const std::vector<bool>& batch, const OnnxOptions& options);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_ONNX_LAYER_H_

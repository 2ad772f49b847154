// Conversion of layers to ONNX: one function per layer type, in a registry that docs/reference.md
// shows. Shapes are taken from Doppio's own inference, so everything that depends on them is
// written as constants.
#ifndef DOPPIO_TOOLS_ONNX_ONNX_LAYER_H_
#define DOPPIO_TOOLS_ONNX_ONNX_LAYER_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/registry.h"
#include "tools/onnx/onnx_params.h"

namespace doppio {

struct OnnxOptions {
  bool dynamic_batch = false;  // leave the first extent of inputs open
  bool fold_bn = false;        // fold BatchNorm and Scale into the weights of the layer before
};

// One layer of the net, as seen by the function that adds it to the graph. The graph and the
// options must outlive it.
class OnnxLayer {
 public:
  OnnxLayer(OnnxGraph* graph, int node, const OnnxOptions& options)
      : options(options), params(graph, node), graph_(graph), index_(node) {}

  const OnnxOptions& options;
  const OnnxParams params;
  const LayerSpec& spec() const { return graph_->net().layer(index_); }

  // Returns the form that the layer's `infer` has made (LayerShape::form).
  template <class T>
  const T& Form() const {
    return FormAs<T>(&node().shape.form, spec().type());
  }

  int bottoms() const { return static_cast<int>(node().bottoms.size()); }
  int tops() const { return static_cast<int>(node().tops.size()); }
  const Shape& bottom(int i = 0) const { return graph_->net().edges[node().bottoms[i]].shape; }
  const Shape& top(int i = 0) const { return graph_->net().edges[node().tops[i]].shape; }
  // Returns the name of bottom i's value.
  const std::string& in(int i = 0) const { return graph_->ValueOf(node().bottoms[i]); }

  // The next three functions add a constant and return its name.
  std::string Floats(const Shape& shape, std::vector<float> values) const;
  std::string Scalar(double value) const { return Floats({}, {static_cast<float>(value)}); }
  std::string Integers(std::vector<int64_t> values) const;

  // Adds a node with one output and returns the name of that output.
  std::string Add(const std::string& op, const std::vector<std::string>& inputs,
                  const OnnxAttributes& attributes = {}) const {
    return graph_->Add(index_, op, inputs, attributes, 1)[0];
  }
  std::vector<std::string> AddSeveral(const std::string& op, const std::vector<std::string>& inputs,
                                      const OnnxAttributes& attributes, int outputs) const {
    return graph_->Add(index_, op, inputs, attributes, outputs);
  }
  // See OnnxGraph::MakeBody().
  onnx::GraphProto Body(
      int inputs,
      const std::function<std::vector<std::string>(const std::vector<std::string>&)>& fill) const {
    return graph_->MakeBody(index_, inputs, fill);
  }
  // Returns `value` reshaped from `from` to `to`, or `value` itself if the shapes are equal.
  std::string Reshape(const std::string& value, const Shape& from, const Shape& to) const;

  // Makes `value` the value of top i.
  void SetTop(const std::string& value, int i = 0) const { graph_->Tie(node().tops[i], value); }
  // Makes top i an input of the graph.
  void SetInput(int i) const { graph_->AddInput(node().tops[i]); }
  // See OnnxGraph::Absorb(). If it returns true, the top has been tied to the bottom's value.
  bool Absorb(const std::vector<double>& factor, const std::vector<double>& shift,
              bool into_products) const;

 private:
  const Node& node() const { return graph_->net().nodes[index_]; }

  OnnxGraph* graph_;
  int index_;
};

enum class OnnxRole {
  kComputes,
  kMoves,        // likewise, and the values of its tops are values of its bottoms
  kLossOrScore,  // left out: a loss or a score; its bottoms become outputs of the model
  kSilence,      // left out: its bottoms are not outputs either
};

// The valid values of a bottom.
struct OnnxRange {
  // If > 0: integers in [0, below).
  int64_t below = 0;
  // If > 0: rows of (image, left, top, right, bottom) within an image of this size.
  double width = 0, height = 0;
};

struct OnnxMapping {
  std::string words;  // the ONNX operators it becomes, for docs/reference.md
  // Adds the layer to the graph; null if it is left out. Throws UserError if ONNX has no
  // equivalent.
  void (*add)(const OnnxLayer& layer) = nullptr;
  OnnxRole role = OnnxRole::kComputes;
  // Returns the range of bottom number `bottom`; `bottom_0` is the shape of the first one. Null if
  // all values are valid.
  OnnxRange (*range)(const LayerParameter& layer, int bottom, const Shape& bottom_0) = nullptr;
};
using OnnxMappings = Registry<OnnxMapping>;

// Returns the registered mapping of a layer type. Other types are data layers, layers without tops
// or layers that only score the net, which have one mapping each. Returns null for the rest.
const OnnxMapping* FindOnnxMapping(const std::string& type);

// Converts the whole net. `batch` is as in OnnxGraph::Finish(). Throws one error that lists all
// layers without an ONNX equivalent.
OnnxContent MakeOnnx(const Graph& graph, const WeightTensors& weights,
                     const std::vector<bool>& batch, const OnnxOptions& options);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_ONNX_LAYER_H_

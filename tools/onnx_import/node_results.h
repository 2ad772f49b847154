// Adds the layers of one node of an ONNX model to the net, and sets the values of its outputs.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_NODE_RESULTS_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_NODE_RESULTS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tools/onnx_import/import_graph.h"

namespace doppio {

// All functions that add layers throw UserError if one does not fit.
class NodeResults {
 public:
  // Both arguments must outlive this object. Throws UserError if the node has no output, or if the
  // model has another value with the name of an output.
  NodeResults(const onnx::NodeProto& node, ImportGraph* graph);

  // Adds a layer behind the blobs `bottoms`, with one top or several.
  ImportValue Add(const LayerParameter& layer, const std::vector<ImportValue>& bottoms) const;
  std::vector<ImportValue> AddSeveral(const LayerParameter& layer,
                                      const std::vector<ImportValue>& bottoms, int tops) const;
  // Returns `value` in another shape with as many elements, and `value` itself if it has the shape.
  ImportValue Reshaped(const ImportValue& value, const Shape& shape) const;

  // Returns `value` with its axes in another order, and `value` itself if the order is the same.
  ImportValue Permuted(const ImportValue& value, const std::vector<int64_t>& order) const;

  int count() const { return node_.output_size(); }
  const std::string& name(int i = 0) const { return node_.output(i); }
  void Set(ImportValue value, int i = 0) const { graph_->Set(name(i), std::move(value)); }
  void Set(OnnxArray constant) const;
  // Sets output 0 to an image N x H x W x C if `turned`, of which `stored` is N x C x H x W, or
  // else to `stored`.
  void SetMaybeTurned(const ImportValue& stored, bool turned) const;
  // Returns the number of elements of an array that the node is about to compute. Throws UserError
  // if it is too large, alone or together with those of the other nodes.
  size_t Room(const Shape& shape, size_t element_bytes) const;

 private:
  const onnx::NodeProto& node_;
  ImportGraph* const graph_;
};

// Returns a layer of this type without names.
LayerParameter LayerOf(const std::string& type);
// Appends a weight to the layer.
void AddWeight(const Shape& shape, const std::vector<float>& values, LayerParameter* layer);
// Keeps the only weight of the layer as it is in trainings.
void Freeze(LayerParameter* layer);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_NODE_RESULTS_H_

// The inputs of a node of an ONNX model: blobs of the net and constants.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_NODE_INPUTS_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_NODE_INPUTS_H_

#include <cstdint>
#include <vector>

#include "tools/onnx_import/import_graph.h"

namespace doppio {

// All functions that return an input throw UserError if it is absent or not what they return.
class NodeInputs {
 public:
  // Both arguments must outlive this object. Throws UserError if an input has not been computed.
  NodeInputs(const onnx::NodeProto& node, ImportGraph* graph);

  int count() const { return node_.input_size(); }
  // Returns true if input `i` is given; trailing inputs and those with an empty name are absent.
  bool Has(int i) const { return i < count() && !node_.input(i).empty(); }
  // Returns true if no other node and no output of the model reads input `i`.
  bool IsOnlyReader(int i) const;

  // Returns input `i`.
  const ImportValue& At(int i) const;
  // Returns a blob, in the model's order of axes.
  const ImportValue& Blob(int i) const;
  // Returns a blob, perhaps turned.
  const ImportValue& MaybeTurned(int i) const;
  // Return a constant: of any type, of floats, or of integers.
  const OnnxArray& Constant(int i) const;
  const OnnxArray& Floats(int i) const;
  std::vector<int64_t> Integers(int i) const;
  // Returns the only element of a constant.
  double Number(int i) const;

 private:
  const onnx::NodeProto& node_;
  ImportGraph* const graph_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_NODE_INPUTS_H_

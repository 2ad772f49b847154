// One node of an ONNX model, as seen by the function that makes layers of it, and the registry of
// these functions by operator.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_IMPORT_NODE_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_IMPORT_NODE_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "core/base/registry.h"
#include "tools/onnx_import/import_graph.h"
#include "tools/onnx_import/node_attributes.h"
#include "tools/onnx_import/node_inputs.h"
#include "tools/onnx_import/node_name.h"
#include "tools/onnx_import/node_results.h"

namespace doppio {

struct ImportNode {
  // Throws UserError if an input has not been computed, or an output has.
  ImportNode(const onnx::NodeProto& node, ImportGraph* its_graph);

  const std::string& op() const { return proto.op_type(); }

  // Returns the axis as a non-negative number. Throws UserError if a value of `rank` axes lacks it.
  int Axis(int64_t axis, int rank) const;
  // Returns such axes, ascending. Throws UserError if an axis occurs twice.
  std::vector<int> Axes(const std::vector<int64_t>& given, int rank) const;
  // Returns a number for a layer's parameter. Throws UserError if it is negative or has more than
  // 31 bits.
  int Narrow(int64_t value) const;

  // Adds layers behind input 0, one behind the other, that compute each element by itself, and sets
  // the output.
  void SetElementwise(const std::vector<LayerParameter>& layers) const;

  // See RefuseNode.
  template <class... Parts>
  [[noreturn]] void Refuse(const Parts&... why) const {
    RefuseNode(proto, why...);
  }

  const onnx::NodeProto& proto;
  ImportGraph* const graph;
  const NodeAttributes attributes;
  const NodeInputs inputs;
  const NodeResults results;
};

// Makes layers of a node, and sets its outputs. Throws UserError.
using ImportFunction = void (*)(const ImportNode& node);
struct OnnxImport {
  ImportFunction import;
};
using OnnxImports = Registry<OnnxImport>;

// Registers one function for several operators. Returns true.
bool RegisterImports(std::initializer_list<const char*> operators, ImportFunction import);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_IMPORT_NODE_H_

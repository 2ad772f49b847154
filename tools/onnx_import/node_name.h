// Names a node of an ONNX model, in messages and for its layers.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_NODE_NAME_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_NODE_NAME_H_

#include <string>

#include "core/base/error.h"
#include "proto/onnx.pb.h"

namespace doppio {

// Returns the name for the node's layers: its own, or that of its output, or its operator.
inline const std::string& WishedName(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  return node.output_size() > 0 ? node.output(0) : node.op_type();
}

// Throws UserError with the node's name, its operator and the parts of a text, as StrCat takes
// them.
template <class... Parts>
[[noreturn]] void RefuseNode(const onnx::NodeProto& node, const Parts&... why) {
  throw UserError({}, "node '", WishedName(node), "' (", node.op_type(), "): ", why...);
}

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_NODE_NAME_H_

// Operators on constants. Exporters compute shapes with them.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_CONSTANT_OPS_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_CONSTANT_OPS_H_

#include "tools/onnx_import/import_node.h"

namespace doppio {

// Computes the node and sets its output, if all its inputs are constants and Doppio knows the
// operator for them. Returns false otherwise. Throws UserError if the constants do not fit.
bool FoldConstants(const ImportNode& node);
// Returns the constant broadcast together with the shape `with`. Throws UserError if they do not
// fit.
OnnxArray Broadcast(const ImportNode& node, const OnnxArray& from, const Shape& with);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_CONSTANT_OPS_H_

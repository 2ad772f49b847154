// The shapes that Reshape, Flatten, Squeeze and Unsqueeze give to their first input.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_NEW_SHAPE_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_NEW_SHAPE_H_

#include "tools/onnx_import/import_node.h"

namespace doppio {

// Returns the shape of the node's output for an input of the shape `from`. Throws UserError if the
// shape is not constant or has another number of elements.
Shape NewShape(const ImportNode& node, const Shape& from);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_NEW_SHAPE_H_

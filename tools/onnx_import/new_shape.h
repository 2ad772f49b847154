// The shapes that Reshape, Flatten, Squeeze, Unsqueeze, Transpose and Gather give to their first
// input.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_NEW_SHAPE_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_NEW_SHAPE_H_

#include "tools/onnx_import/import_node.h"

namespace doppio {

// Returns the shape of the node's output for an input of the shape `from`. Throws UserError if the
// shape is not constant or has another number of elements.
Shape NewShape(const ImportNode& node, const Shape& from);

// Returns the axes of the input of a node Transpose in the order of its output. Throws UserError.
std::vector<int64_t> TransposedOrder(const ImportNode& node, const Shape& from);
// Returns `from` with the extents of `indices` in the place of `axis`, as Gather changes it.
Shape GatheredShape(const Shape& from, int axis, const Shape& indices);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_NEW_SHAPE_H_

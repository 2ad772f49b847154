// Layers that keep parts of an axis.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_AXIS_PARTS_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_AXIS_PARTS_H_

#include <cstdint>
#include <vector>

#include "tools/onnx_import/import_node.h"

namespace doppio {

// Cuts `value` along `axis` at the given points.
std::vector<ImportValue> Cut(const ImportNode& node, const ImportValue& value, int axis,
                             const std::vector<int64_t>& points);
// Joins values along `axis`.
ImportValue Concatenated(const ImportNode& node, const std::vector<ImportValue>& values, int axis);
// Returns the elements `rows` of `axis`, in this order; negative ones count from the end of the
// axis. Elements that are left out are not outputs of the net. Throws UserError if an element is
// absent, if there are none, or if they come from too many places.
ImportValue TakeRows(const ImportNode& node, const ImportValue& value, int axis,
                     std::vector<int64_t> rows);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_AXIS_PARTS_H_

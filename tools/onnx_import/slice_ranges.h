// The parts of axes that a node Slice takes.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_SLICE_RANGES_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_SLICE_RANGES_H_

#include <cstdint>
#include <vector>

#include "tools/onnx_import/import_node.h"

namespace doppio {

// One part: from `start`, in steps of `step`, to before `end`. Negative places count from the end
// of the axis. `axis` is not negative; `step` is not 0.
struct SliceRange {
  int axis = 0;
  int64_t start = 0, end = 0, step = 1;
};

// Returns the parts for an input of `rank` axes: attributes before opset 10, then inputs. Throws
// UserError.
std::vector<SliceRange> ReadSliceRanges(const ImportNode& node, int rank);

// Returns the elements of an axis of `extent` elements that a range takes.
std::vector<int64_t> RowsOf(const SliceRange& range, int64_t extent);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_SLICE_RANGES_H_

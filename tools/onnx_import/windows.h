// The windows of convolutions and poolings as ONNX's attributes describe them.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_WINDOWS_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_WINDOWS_H_

#include <cstdint>
#include <vector>

#include "tools/onnx_import/import_node.h"

namespace doppio {

constexpr int64_t kMostExtent = 1 << 20;  // of kernels, strides, dilations and pads

// One element for each spatial axis.
struct Windows {
  std::vector<int64_t> kernel, stride, dilation, begin, end;  // begin and end: pads

  size_t axes() const { return kernel.size(); }
  bool symmetric() const { return begin == end; }
  // Returns the number of pixels that a window spans on axis `i`.
  int64_t Span(size_t i) const { return (kernel[i] - 1) * dilation[i] + 1; }
  // Returns the number of windows on axis `i` of `extent` pixels. With `ceil`, a last window that
  // reaches beyond the end counts if it starts within the pixels and the pad at the start.
  int64_t Count(size_t i, int64_t extent, bool ceil) const;
};

// Reads kernel_shape, strides, dilations, pads and auto_pad of a node whose input has the shape
// `input`. `kernel` is used without kernel_shape. Throws UserError.
Windows ReadWindows(const ImportNode& node, const Shape& input, std::vector<int64_t> kernel);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_WINDOWS_H_

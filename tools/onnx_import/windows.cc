#include "tools/onnx_import/windows.h"

#include <algorithm>

namespace doppio {
namespace {

// Throws UserError unless `values` has one number from `least` to kMostExtent for each axis.
void Check(const ImportNode& node, const std::string& name, const std::vector<int64_t>& values,
           size_t count, int64_t least) {
  const bool fits = std::all_of(values.begin(), values.end(), [&](int64_t value) {
    return value >= least && value <= kMostExtent;
  });
  if (values.size() != count || !fits)
    node.Refuse("its attribute '", name, "' needs ", count, " numbers, at least ", least);
}

// Sets the pads with which the number of windows is that of pixels divided by the stride.
void PadToSame(const Shape& input, bool more_at_end, Windows* windows) {
  for (size_t i = 0; i < windows->axes(); ++i) {
    const int64_t extent = input[static_cast<int>(i) + 2], stride = windows->stride[i];
    const int64_t count = (extent + stride - 1) / stride;
    const int64_t pads = std::max<int64_t>(0, (count - 1) * stride + windows->Span(i) - extent);
    windows->begin[i] = more_at_end ? pads / 2 : pads - pads / 2;
    windows->end[i] = pads - windows->begin[i];
  }
}

}  // namespace

int64_t Windows::Count(size_t i, int64_t extent, bool ceil) const {
  const int64_t room = extent + begin[i] + end[i] - Span(i);
  int64_t count = (room + (ceil ? stride[i] - 1 : 0)) / stride[i] + 1;
  if (ceil && (count - 1) * stride[i] >= extent + begin[i]) --count;
  return count;
}

Windows ReadWindows(const ImportNode& node, const Shape& input, std::vector<int64_t> kernel) {
  const int axes = input.rank() - 2;
  if (axes < 1) node.Refuse("its input ", input.ToString(), " has no spatial axis");
  const auto count = static_cast<size_t>(axes);
  Windows windows;
  windows.kernel = node.attributes.Ints("kernel_shape", std::move(kernel));
  windows.stride = node.attributes.Ints("strides", std::vector<int64_t>(count, 1));
  windows.dilation = node.attributes.Ints("dilations", std::vector<int64_t>(count, 1));
  std::vector<int64_t> pads = node.attributes.Ints("pads", std::vector<int64_t>(2 * count, 0));
  Check(node, "kernel_shape", windows.kernel, count, 1);
  Check(node, "strides", windows.stride, count, 1);
  Check(node, "dilations", windows.dilation, count, 1);
  Check(node, "pads", pads, 2 * count, 0);
  windows.begin.assign(pads.begin(), pads.begin() + axes);
  windows.end.assign(pads.begin() + axes, pads.end());
  const std::string same = node.attributes.Text("auto_pad", "NOTSET");
  if (same == "SAME_UPPER" || same == "SAME_LOWER") {
    PadToSame(input, same == "SAME_UPPER", &windows);
  } else if (same != "NOTSET" && same != "VALID" && !same.empty()) {
    node.Refuse("Doppio does not know auto_pad '", same, "'");
  }
  return windows;
}

}  // namespace doppio

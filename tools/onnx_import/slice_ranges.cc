#include "tools/onnx_import/slice_ranges.h"

#include <numeric>

namespace doppio {

std::vector<SliceRange> ReadSliceRanges(const ImportNode& node, int rank) {
  const bool old = node.graph->opset() < 10;
  const auto read = [&](const char* name, int input, const std::vector<int64_t>& absent) {
    if (old) return node.attributes.Ints(name, absent);
    return node.inputs.Has(input) ? node.inputs.Integers(input) : absent;
  };
  const std::vector<int64_t> starts = read("starts", 1, {}), ends = read("ends", 2, {});
  std::vector<int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int64_t> axes = read("axes", 3, all);
  const std::vector<int64_t> steps =
      node.inputs.Has(4) ? node.inputs.Integers(4) : std::vector<int64_t>(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    node.Refuse("its starts, ends, axes and steps differ in number");
  std::vector<SliceRange> ranges;
  for (size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] == 0) node.Refuse("its step is 0");
    ranges.push_back({node.Axis(axes[i], rank), starts[i], ends[i], steps[i]});
  }
  return ranges;
}

}  // namespace doppio

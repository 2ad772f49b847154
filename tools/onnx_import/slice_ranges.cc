#include "tools/onnx_import/slice_ranges.h"

#include <algorithm>
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

std::vector<int64_t> RowsOf(const SliceRange& range, int64_t extent) {
  const auto within = [&](int64_t place, int64_t least, int64_t most) {
    return std::clamp<int64_t>(place < 0 ? place + extent : place, least, most);
  };
  const int64_t step = std::clamp(range.step, -extent - 1, extent + 1);
  std::vector<int64_t> rows;
  if (step > 0) {
    const int64_t end = within(range.end, 0, extent);
    for (int64_t row = within(range.start, 0, extent); row < end; row += step) rows.push_back(row);
  } else {
    // An end below the first element includes it.
    const int64_t end = range.end < -extent ? -1 : within(range.end, -1, extent - 1);
    for (int64_t row = within(range.start, -1, extent - 1); row > end; row += step)
      rows.push_back(row);
  }
  return rows;
}

}  // namespace doppio

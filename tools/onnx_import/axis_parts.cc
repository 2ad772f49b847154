#include "tools/onnx_import/axis_parts.h"

#include <algorithm>
#include <set>

namespace doppio {
namespace {

// The parts that one node may put together, each a top of a layer Slice.
constexpr size_t kMostRuns = 1024;

// Neighbouring elements [begin, end) of an axis.
struct Run {
  int64_t begin, end;
};

std::vector<Run> RunsOf(const std::vector<int64_t>& rows) {
  std::vector<Run> runs;
  for (const int64_t row : rows) {
    if (runs.empty() || runs.back().end != row) runs.push_back({row, row});
    runs.back().end = row + 1;
  }
  return runs;
}

ImportValue TakeRuns(const ImportNode& node, const ImportValue& value, int axis,
                     const std::vector<Run>& runs) {
  if (runs.size() > kMostRuns) {
    node.Refuse("it takes elements from ", runs.size(), " places of axis ", axis,
                "; Doppio takes them from at most ", kMostRuns);
  }
  std::set<int64_t> cuts = {0, value.shape[axis]};
  for (const Run& run : runs) cuts.insert({run.begin, run.end});
  const std::vector<int64_t> begins(cuts.begin(), --cuts.end());
  const std::vector<ImportValue> parts =
      Cut(node, value, axis, std::vector<int64_t>(begins.begin() + 1, begins.end()));
  std::vector<ImportValue> taken, others;
  std::vector<bool> used(parts.size(), false);
  for (const Run& run : runs) {
    for (size_t i = 0; i < parts.size(); ++i) {
      if (begins[i] < run.begin || begins[i] >= run.end) continue;
      taken.push_back(parts[i]);
      used[i] = true;
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!used[i]) others.push_back(parts[i]);
  }
  if (!others.empty()) node.results.AddSeveral(LayerOf("Silence"), others, 0);
  return taken.size() == 1 ? taken[0] : Concatenated(node, taken, axis);
}

// Returns the distance of the rows if it is the same everywhere and positive, or else 0.
int64_t StepOf(const std::vector<int64_t>& rows) {
  const int64_t step = rows.size() > 1 ? rows[1] - rows[0] : 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i] - rows[i - 1] != step) return 0;
  }
  return std::max<int64_t>(step, 0);
}

}  // namespace

std::vector<ImportValue> Cut(const ImportNode& node, const ImportValue& value, int axis,
                             const std::vector<int64_t>& points) {
  if (points.empty()) return {value};
  LayerParameter layer = LayerOf("Slice");
  if (axis != 1) layer.mutable_slice_param()->set_axis(axis);
  for (const int64_t point : points)
    layer.mutable_slice_param()->add_slice_point(node.Narrow(point));
  return node.results.AddSeveral(layer, {value}, static_cast<int>(points.size()) + 1);
}

ImportValue Concatenated(const ImportNode& node, const std::vector<ImportValue>& values, int axis) {
  LayerParameter layer = LayerOf("Concat");
  if (axis != 1) layer.mutable_concat_param()->set_axis(axis);
  return node.results.Add(layer, values);
}

ImportValue TakeRows(const ImportNode& node, const ImportValue& value, int axis,
                     std::vector<int64_t> rows) {
  const int64_t extent = value.shape[axis];
  if (rows.empty()) node.Refuse("it keeps nothing of axis ", axis);
  for (int64_t& row : rows) {
    if (row < 0) row += extent;
    if (row < 0 || row >= extent) node.Refuse("there is no element ", row, " on axis ", axis);
  }
  const int64_t step = StepOf(rows), count = static_cast<int64_t>(rows.size());
  // The block of count x step elements with the rows in one column begins with the first row, or
  // ends with the last one.
  const int64_t begin = std::min(rows[0], extent - count * step);
  if (step < 2 || begin < 0 || rows[0] - begin >= step)
    return TakeRuns(node, value, axis, RunsOf(rows));
  const ImportValue block = TakeRuns(node, value, axis, {{begin, begin + count * step}});
  std::vector<int64_t> split = block.shape.dims(), kept = block.shape.dims();
  split[axis] = count;
  split.insert(split.begin() + axis + 1, step);
  kept[axis] = count;
  const int64_t column = rows[0] - begin;
  return node.results.Reshaped(
      TakeRuns(node, node.results.Reshaped(block, Shape(split)), axis + 1, {{column, column + 1}}),
      Shape(kept));
}

}  // namespace doppio

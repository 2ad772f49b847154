#include "tools/onnx_import/new_shape.h"

#include <algorithm>
#include <numeric>

#include "core/base/checked_product.h"

namespace doppio {
namespace {

Shape Reshaped(const ImportNode& node, const Shape& from) {
  const std::vector<int64_t> dims =
      node.inputs.Has(1) ? node.inputs.Integers(1) : node.attributes.Ints("shape", {});
  const bool zero_is_zero = node.attributes.Int("allowzero", 0) != 0;
  Shape to(dims);
  int open = -1;
  for (int axis = 0; axis < to.rank(); ++axis) {
    if (to[axis] == 0 && !zero_is_zero && axis < from.rank()) to[axis] = from[axis];
    if (to[axis] == -1 && open >= 0) node.Refuse("its shape has several -1");
    if (to[axis] == -1) open = axis;
    if (to[axis] < -1) node.Refuse("its shape has the extent ", to[axis]);
  }
  if (open >= 0) {
    to[open] = 1;
    const int64_t rest = CheckedProduct(to.dims(), kMaxPlanned).value_or(0);
    to[open] = rest == 0 ? 0 : from.count() / rest;
  }
  return to;
}

Shape Flattened(const ImportNode& node, const Shape& from) {
  int64_t axis = node.attributes.Int("axis", 1);
  if (axis != from.rank()) axis = node.Axis(axis, from.rank());
  const int end = static_cast<int>(axis);
  return {from.count(0, end), from.count(end)};
}

// Returns the axes that Squeeze and Unsqueeze name, ascending, of a value with `rank` axes.
std::vector<int> NamedAxes(const ImportNode& node, int rank) {
  return node.Axes(node.inputs.Has(1) ? node.inputs.Integers(1) : node.attributes.Ints("axes", {}),
                   rank);
}

Shape Squeezed(const ImportNode& node, const Shape& from) {
  const std::vector<int> axes = NamedAxes(node, from.rank());
  Shape to;
  for (int axis = 0; axis < from.rank(); ++axis) {
    const bool named = std::binary_search(axes.begin(), axes.end(), axis);
    if (named && from[axis] != 1) node.Refuse("axis ", axis, " of ", from.ToString(), " is not 1");
    if (!named && !(axes.empty() && from[axis] == 1)) to.push_back(from[axis]);
  }
  return to;
}

Shape Unsqueezed(const ImportNode& node, const Shape& from) {
  const auto given =
      node.inputs.Has(1) ? node.inputs.Integers(1) : node.attributes.Ints("axes", {});
  const int rank = from.rank() + static_cast<int>(given.size());
  const std::vector<int> axes = NamedAxes(node, rank);
  Shape to;
  for (int axis = 0, next = 0; axis < rank; ++axis)
    to.push_back(std::binary_search(axes.begin(), axes.end(), axis) ? 1 : from[next++]);
  return to;
}

Shape ShapeAfter(const ImportNode& node, const Shape& from) {
  if (node.op() == "Flatten") return Flattened(node, from);
  if (node.op() == "Squeeze") return Squeezed(node, from);
  if (node.op() == "Unsqueeze") return Unsqueezed(node, from);
  return Reshaped(node, from);
}

}  // namespace

Shape NewShape(const ImportNode& node, const Shape& from) {
  Shape to = ShapeAfter(node, from);
  if (to.rank() > kMaxAxes || !CheckedProduct(to.dims(), kMaxPlanned))
    node.Refuse("its result has too many axes or elements");
  return to;
}

std::vector<int64_t> TransposedOrder(const ImportNode& node, const Shape& from) {
  std::vector<int64_t> order(static_cast<size_t>(from.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  order = node.attributes.Ints("perm", order);
  if (node.Axes(order, from.rank()).size() != static_cast<size_t>(from.rank()))
    node.Refuse("its attribute 'perm' does not name each axis");
  for (int64_t& axis : order) axis = node.Axis(axis, from.rank());
  return order;
}

Shape GatheredShape(const Shape& from, int axis, const Shape& indices) {
  std::vector<int64_t> dims = from.dims();
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, indices.dims().begin(), indices.dims().end());
  return Shape(dims);
}

}  // namespace doppio

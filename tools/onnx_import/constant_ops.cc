#include "tools/onnx_import/constant_ops.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tools/onnx_import/new_shape.h"
#include "tools/onnx_import/slice_ranges.h"

namespace doppio {
namespace {

OnnxArray Empty(const ImportNode& node, const Shape& shape, bool is_integers) {
  OnnxArray array;
  array.shape = shape;
  array.is_integers = is_integers;
  if (is_integers) {
    array.integers.resize(node.results.Room(shape, sizeof(int64_t)));
  } else {
    array.floats.resize(node.results.Room(shape, sizeof(float)));
  }
  return array;
}

// Returns the integer part of `value`, or the nearest integer of 64 bits, or 0 for NaN.
int64_t WholeOf(double value) {
  constexpr double kEnd = 0x1p63;
  if (value >= kEnd) return std::numeric_limits<int64_t>::max();
  return value >= -kEnd      ? static_cast<int64_t>(value)
         : std::isnan(value) ? 0
                             : std::numeric_limits<int64_t>::min();
}

void SetElement(double value, int64_t i, OnnxArray* array) {
  if (array->is_integers) {
    array->integers[i] = WholeOf(value);
  } else {
    array->floats[i] = static_cast<float>(value);
  }
}

// Copies element `i` to element `j` of `to`, which may have the other type.
void CopyElement(const OnnxArray& from, int64_t i, int64_t j, OnnxArray* to) {
  if (from.is_integers && to->is_integers) {
    to->integers[j] = from.integers[i];  // a double would drop the lower bits
  } else {
    SetElement(from.at(i), j, to);
  }
}

// Returns the index in an array of shape `small` for element `i` of the broadcast shape `large`.
int64_t BroadcastIndex(const Shape& small, const Shape& large, int64_t i) {
  int64_t index = 0, step = 1;
  for (int axis = large.rank() - 1, at = small.rank() - 1; at >= 0; --axis, --at) {
    if (small[at] != 1) index += i % large[axis] * step;
    step *= small[at];
    i /= large[axis];
  }
  return index;
}

Shape BroadcastShape(const ImportNode& node, const Shape& a, const Shape& b) {
  Shape shape(std::vector<int64_t>(static_cast<size_t>(std::max(a.rank(), b.rank()))));
  for (int back = 1; back <= shape.rank(); ++back) {
    const int64_t of_a = back <= a.rank() ? a[a.rank() - back] : 1;
    const int64_t of_b = back <= b.rank() ? b[b.rank() - back] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1)
      node.Refuse(a.ToString(), " and ", b.ToString(), " do not fit together");
    shape[shape.rank() - back] = of_a == 1 ? of_b : of_a;
  }
  return shape;
}

using Binary = std::function<double(double, double)>;

Binary BinaryOf(const ImportNode& node) {
  const std::string& op = node.op();
  if (op == "Add") return std::plus<double>();
  if (op == "Sub") return std::minus<double>();
  if (op == "Mul") return std::multiplies<double>();
  if (op == "Div") return std::divides<double>();
  if (op == "Pow") return [](double a, double b) { return std::pow(a, b); };
  if (op == "Mod" && node.attributes.Int("fmod", 0) != 0)
    return [](double a, double b) { return std::fmod(a, b); };
  if (op == "Mod") return [](double a, double b) { return a - b * std::floor(a / b); };
  if (op == "Equal") return std::equal_to<double>();
  if (op == "Max") return [](double a, double b) { return std::max(a, b); };
  if (op == "Min") return [](double a, double b) { return std::min(a, b); };
  return nullptr;
}

OnnxArray Combined(const ImportNode& node, const Binary& binary) {
  if (node.inputs.count() != 2) node.Refuse("it has ", node.inputs.count(), " inputs");
  const OnnxArray &a = node.inputs.Constant(0), &b = node.inputs.Constant(1);
  const bool integers = a.is_integers && b.is_integers;
  if (integers && (node.op() == "Div" || node.op() == "Mod") &&
      std::count(b.integers.begin(), b.integers.end(), 0) > 0)
    node.Refuse("it divides by 0");
  OnnxArray result =
      Empty(node, BroadcastShape(node, a.shape, b.shape), integers || node.op() == "Equal");
  for (int64_t i = 0; i < result.count(); ++i) {
    const double value = binary(a.at(BroadcastIndex(a.shape, result.shape, i)),
                                b.at(BroadcastIndex(b.shape, result.shape, i)));
    SetElement(value, i, &result);
  }
  return result;
}

OnnxArray Converted(const ImportNode& node) {
  const OnnxArray& from = node.inputs.Constant(0);
  const int64_t to = node.attributes.Int("to", onnx::TensorProto::FLOAT);
  node.attributes.Int("saturate", 1);
  const bool floats = to == onnx::TensorProto::FLOAT || to == onnx::TensorProto::DOUBLE ||
                      to == onnx::TensorProto::FLOAT16 || to == onnx::TensorProto::BFLOAT16;
  OnnxArray result = Empty(node, from.shape, !floats);
  for (int64_t i = 0; i < from.count(); ++i) CopyElement(from, i, i, &result);
  return result;
}

OnnxArray Same(const ImportNode& node) { return node.inputs.Constant(0); }

OnnxArray Mapped(const ImportNode& node) {
  OnnxArray result = node.inputs.Constant(0);
  const std::string& op = node.op();
  for (float& value : result.floats)
    value = op == "Floor" ? std::floor(value) : op == "Ceil" ? std::ceil(value) : std::sqrt(value);
  for (int64_t& value : result.integers) value = op == "Not" ? value == 0 : value;
  return result;
}

OnnxArray Transposed(const ImportNode& node) {
  const OnnxArray& from = node.inputs.Constant(0);
  const std::vector<int64_t> order = TransposedOrder(node, from.shape);
  Shape shape;
  for (const int64_t axis : order) shape.push_back(from.shape[static_cast<int>(axis)]);
  OnnxArray result = Empty(node, shape, from.is_integers);
  for (int64_t i = 0; i < result.count(); ++i) {
    int64_t rest = i, index = 0;
    for (int axis = shape.rank() - 1; axis >= 0; rest /= shape[axis--])
      index += rest % shape[axis] * from.shape.count(static_cast<int>(order[axis]) + 1);
    CopyElement(from, index, i, &result);
  }
  return result;
}

OnnxArray Shaped(const ImportNode& node) {
  OnnxArray result = node.inputs.Constant(0);
  const Shape shape = NewShape(node, result.shape);
  if (shape.count() != result.count())
    node.Refuse("it makes ", shape.ToString(), " of ", result.shape.ToString());
  result.shape = shape;
  return result;
}

// Returns the rows `rows` of axis `axis`.
OnnxArray Selected(const ImportNode& node, const OnnxArray& from, int axis,
                   const std::vector<int64_t>& rows) {
  Shape shape = from.shape;
  shape[axis] = static_cast<int64_t>(rows.size());
  OnnxArray result = Empty(node, shape, from.is_integers);
  const int64_t inner = from.shape.count(axis + 1), extent = from.shape[axis];
  for (int64_t i = 0; i < result.count(); ++i) {
    int64_t row = rows[i / inner % shape[axis]];
    if (row < 0) row += extent;
    if (row < 0 || row >= extent) node.Refuse("there is no element ", row, " on its axis");
    CopyElement(from, (i / inner / shape[axis] * extent + row) * inner + i % inner, i, &result);
  }
  return result;
}

OnnxArray Gathered(const ImportNode& node) {
  const OnnxArray& from = node.inputs.Constant(0);
  const int axis = node.Axis(node.attributes.Int("axis", 0), from.shape.rank());
  OnnxArray result = Selected(node, from, axis, node.inputs.Integers(1));
  result.shape = GatheredShape(from.shape, axis, node.inputs.Constant(1).shape);
  return result;
}

OnnxArray Sliced(const ImportNode& node) {
  OnnxArray result = node.inputs.Constant(0);
  for (const SliceRange& range : ReadSliceRanges(node, result.shape.rank()))
    result = Selected(node, result, range.axis, RowsOf(range, result.shape[range.axis]));
  return result;
}

OnnxArray Joined(const ImportNode& node) {
  const OnnxArray& first = node.inputs.Constant(0);
  const int axis = node.Axis(node.attributes.Int("axis", 0), first.shape.rank());
  Shape shape = first.shape;
  for (int i = 1; i < node.inputs.count(); ++i) {
    Shape other = node.inputs.Constant(i).shape;
    if (other.rank() != shape.rank() || node.inputs.Constant(i).is_integers != first.is_integers)
      node.Refuse("its constants differ in type or number of axes");
    shape[axis] += other[axis];
    other[axis] = first.shape[axis];
    if (other != first.shape) node.Refuse("its constants differ in other axes than its own");
  }
  OnnxArray result = Empty(node, shape, first.is_integers);
  const int64_t inner = shape.count(axis + 1);
  int64_t before = 0;
  for (int i = 0; i < node.inputs.count(); ++i) {
    const OnnxArray& part = node.inputs.Constant(i);
    const int64_t row = part.shape[axis] * inner;
    for (int64_t j = 0; j < part.count(); ++j)
      CopyElement(part, j, j / row * shape[axis] * inner + before + j % row, &result);
    before += row;
  }
  return result;
}

OnnxArray Filled(const ImportNode& node) {
  const onnx::AttributeProto* const value = node.attributes.Find("value");
  OnnxArray number;
  number.floats = {0};
  if (value != nullptr) number = ReadOnnxArray(value->t(), "");
  if (number.count() != 1) node.Refuse("its value is not one number");
  OnnxArray result = Empty(node, Shape(node.inputs.Integers(0)), number.is_integers);
  for (int64_t i = 0; i < result.count(); ++i) CopyElement(number, 0, i, &result);
  return result;
}

OnnxArray Expanded(const ImportNode& node) {
  return Broadcast(node, node.inputs.Constant(0), Shape(node.inputs.Integers(1)));
}

OnnxArray Chosen(const ImportNode& node) {
  const OnnxArray &condition = node.inputs.Constant(0), &a = node.inputs.Constant(1),
                  &b = node.inputs.Constant(2);
  const Shape shape = BroadcastShape(node, condition.shape, BroadcastShape(node, a.shape, b.shape));
  OnnxArray result = Empty(node, shape, a.is_integers);
  for (int64_t i = 0; i < result.count(); ++i) {
    const bool first = condition.at(BroadcastIndex(condition.shape, shape, i)) != 0;
    const OnnxArray& from = first ? a : b;
    CopyElement(from, BroadcastIndex(from.shape, shape, i), i, &result);
  }
  return result;
}

OnnxArray Scattered(const ImportNode& node) {
  OnnxArray result = node.inputs.Constant(0);
  const OnnxArray& updates = node.inputs.Constant(2);
  const Shape& places = node.inputs.Constant(1).shape;
  const std::vector<int64_t> at = node.inputs.Integers(1);
  const int64_t axes = places.rank() == 0 ? 0 : places[places.rank() - 1];
  if (node.attributes.Text("reduction", "none") != "none") node.Refuse("it has a reduction");
  if (axes < 1 || axes > result.shape.rank() ||
      places.count() / axes * result.shape.count(static_cast<int>(axes)) != updates.count())
    node.Refuse("its inputs do not fit together");
  const int64_t inner = result.shape.count(static_cast<int>(axes));
  for (int64_t i = 0; i < updates.count(); ++i) {
    int64_t row = 0;
    for (int axis = 0; axis < axes; ++axis) {
      const int64_t extent = result.shape[axis], given = at[i / inner * axes + axis];
      if (given < -extent || given >= extent) node.Refuse("there is no element ", given);
      row = row * extent + (given < 0 ? given + extent : given);
    }
    CopyElement(updates, i, row * inner + i % inner, &result);
  }
  return result;
}

OnnxArray Range(const ImportNode& node) {
  const double start = node.inputs.Number(0), limit = node.inputs.Number(1),
               step = node.inputs.Number(2);
  if (step == 0) node.Refuse("its step is 0");
  const double count = std::max(0.0, std::ceil((limit - start) / step));
  OnnxArray result = Empty(node, {WholeOf(count)}, node.inputs.Constant(0).is_integers);
  for (int64_t i = 0; i < result.count(); ++i)
    SetElement(start + static_cast<double>(i) * step, i, &result);
  return result;
}

OnnxArray Product(const ImportNode& node) {
  const OnnxArray& from = node.inputs.Constant(0);
  const std::vector<int64_t> axes =
      node.inputs.Has(1) ? node.inputs.Integers(1) : node.attributes.Ints("axes", {});
  if (from.shape.rank() > 1 && !axes.empty()) node.Refuse("Doppio multiplies all elements");
  const bool keep = node.attributes.Int("keepdims", 1) != 0;
  OnnxArray result =
      Empty(node, Shape(std::vector<int64_t>(keep ? from.shape.rank() : 0, 1)), from.is_integers);
  double product = 1;
  for (int64_t i = 0; i < from.count(); ++i) product *= from.at(i);
  SetElement(product, 0, &result);
  return result;
}

using Fold = OnnxArray (*)(const ImportNode& node);
struct ConstantOp {
  const char* op;
  Fold fold;
};
constexpr ConstantOp kConstantOps[] = {{"Identity", &Same},        {"Cast", &Converted},
                                       {"Floor", &Mapped},         {"Ceil", &Mapped},
                                       {"Sqrt", &Mapped},          {"Not", &Mapped},
                                       {"Reshape", &Shaped},       {"Squeeze", &Shaped},
                                       {"Unsqueeze", &Shaped},     {"Gather", &Gathered},
                                       {"Slice", &Sliced},         {"Concat", &Joined},
                                       {"Expand", &Expanded},      {"ConstantOfShape", &Filled},
                                       {"Transpose", &Transposed}, {"ScatterND", &Scattered},
                                       {"Where", &Chosen},         {"Range", &Range},
                                       {"ReduceProd", &Product}};

}  // namespace

OnnxArray Broadcast(const ImportNode& node, const OnnxArray& from, const Shape& with) {
  OnnxArray result = Empty(node, BroadcastShape(node, from.shape, with), from.is_integers);
  for (int64_t i = 0; i < result.count(); ++i)
    CopyElement(from, BroadcastIndex(from.shape, result.shape, i), i, &result);
  return result;
}

bool FoldConstants(const ImportNode& node) {
  int64_t bytes = 0;
  for (int i = 0; i < node.inputs.count(); ++i) {
    if (node.inputs.Has(i) && !node.inputs.At(i).is_constant()) return false;
    if (node.inputs.Has(i)) bytes += node.inputs.At(i).constant.bytes();
  }
  const Binary binary = BinaryOf(node);
  const auto* const constant =
      std::find_if(std::begin(kConstantOps), std::end(kConstantOps),
                   [&](const ConstantOp& known) { return node.op() == known.op; });
  if (node.inputs.count() == 0 || (!binary && constant == std::end(kConstantOps))) return false;
  if (!node.graph->Spend(bytes)) node.Refuse("the model's nodes read too many constants");
  node.results.Set(binary ? Combined(node, binary) : constant->fold(node));
  return true;
}

namespace {

void ImportShape(const ImportNode& node) {
  const Shape& shape = node.inputs.At(0).shape;
  const int64_t rank = shape.rank();
  const auto within = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t begin = within(node.attributes.Int("start", 0)),
                end = within(node.attributes.Int("end", rank));
  OnnxArray result;
  result.is_integers = true;
  for (int64_t axis = begin; axis < end; ++axis)
    result.integers.push_back(shape[static_cast<int>(axis)]);
  if (node.op() == "Size") result.integers = {shape.count()};
  if (node.op() == "Shape") result.shape = {static_cast<int64_t>(result.integers.size())};
  node.results.Set(result);
}
[[maybe_unused]] const bool shape_imported = RegisterImports({"Shape", "Size"}, &ImportShape);

void ImportConstant(const ImportNode& node) {
  OnnxArray result;
  if (const onnx::AttributeProto* value = node.attributes.Find("value")) {
    result = ReadOnnxArray(value->t(), "");
  } else if (const onnx::AttributeProto* number = node.attributes.Find("value_float")) {
    result.floats = {number->f()};
  } else if (const onnx::AttributeProto* integer = node.attributes.Find("value_int")) {
    result.is_integers = true;
    result.integers = {integer->i()};
  } else if (node.attributes.Has("value_ints")) {
    result.is_integers = true;
    result.integers = node.attributes.Ints("value_ints", {});
    result.shape = {static_cast<int64_t>(result.integers.size())};
  } else if (const onnx::AttributeProto* numbers = node.attributes.Find("value_floats")) {
    result.floats.assign(numbers->floats().begin(), numbers->floats().end());
    result.shape = {static_cast<int64_t>(result.floats.size())};
  } else {
    node.Refuse("it has no value that Doppio knows");
  }
  node.graph->SetStored(node.results.name(), std::move(result));
}
[[maybe_unused]] const bool constant_imported = RegisterImports({"Constant"}, &ImportConstant);

}  // namespace
}  // namespace doppio

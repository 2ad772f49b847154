// Sums, products and maxima, with NumPy's broadcasting as far as Caffe's layers have it.
#include <algorithm>
#include <cmath>

#include "tools/onnx_import/constant_ops.h"
#include "tools/onnx_import/import_node.h"
#include "tools/onnx_import/sample_constants.h"

namespace doppio {
namespace {

bool IsProduct(const ImportNode& node) { return node.op() == "Mul" || node.op() == "Div"; }

ImportValue Power(const ImportNode& node, const ImportValue& value, double power, double scale,
                  double shift) {
  if (power == 1 && scale == 1 && shift == 0) return value;
  LayerParameter layer = LayerOf("Power");
  if (power != 1) layer.mutable_power_param()->set_power(static_cast<float>(power));
  if (scale != 1) layer.mutable_power_param()->set_scale(static_cast<float>(scale));
  if (shift != 0) layer.mutable_power_param()->set_shift(static_cast<float>(shift));
  return node.results.Add(layer, {value});
}

// The axes [axis, axis + extents.rank()) of a value along which a smaller one varies.
struct Along {
  int axis = 0;
  Shape extents;
};

// Returns where `small` varies when it is broadcast to `large`. With `batch`, axis 0 is the batch
// of both if they have as many axes. Throws UserError if these axes are not contiguous and whole,
// or if `small` is not the smaller one.
Along FindAlong(const ImportNode& node, const Shape& large, const Shape& small,
                bool batch = false) {
  const auto refuse = [&] {
    node.Refuse("Doppio does not broadcast ", small.ToString(), " to ", large.ToString());
  };
  const int missing = large.rank() - small.rank();
  if (missing < 0) refuse();
  int begin = 0, end = small.rank();
  const bool keeps = batch && missing == 0 && small[0] == large[0];
  while (!keeps && begin < end && small[begin] == 1) ++begin;
  while (end > begin + keeps && small[end - 1] == 1) --end;
  Along along;
  along.axis = missing + begin;
  for (int axis = begin; axis < end; ++axis) {
    if (small[axis] != large[missing + axis]) refuse();
    along.extents.push_back(small[axis]);
  }
  return along;
}

// Repeats a constant along the axes of `large` between the first and the last one along which it
// varies. Returns false if there are none.
bool FillGaps(const ImportNode& node, const Shape& large, OnnxArray* constant) {
  const std::vector<int64_t>& dims = constant->shape.dims();
  const auto varies = [](int64_t extent) { return extent != 1; };
  const auto first = std::find_if(dims.begin(), dims.end(), varies);
  const auto end = std::find_if(dims.rbegin(), dims.rend(), varies).base();
  const int missing = large.rank() - constant->shape.rank();
  if (missing < 0) return false;
  Shape filled(std::vector<int64_t>(dims.size(), 1));
  for (auto at = first; at < end; ++at) {
    const int axis = static_cast<int>(at - dims.begin());
    filled[axis] = *at == 1 ? large[missing + axis] : *at;
  }
  if (filled == constant->shape) return false;
  *constant = Broadcast(node, *constant, filled);
  return true;
}

// Adds `constant` to `value` or, if `product` is true, multiplies by it, by a layer with weights.
// They are trained if `trains` is true and each belongs to one element of the constant.
ImportValue WithWeights(const ImportNode& node, const ImportValue& value, OnnxArray constant,
                        bool product, bool trains = true) {
  const bool repeated = FillGaps(node, value.shape, &constant);
  const Along along = FindAlong(node, value.shape, constant.shape);
  LayerParameter layer = LayerOf(product ? "Scale" : "Bias");
  if (product) {
    layer.mutable_scale_param()->set_axis(along.axis);
    layer.mutable_scale_param()->set_num_axes(along.extents.rank());
  } else {
    layer.mutable_bias_param()->set_axis(along.axis);
    layer.mutable_bias_param()->set_num_axes(along.extents.rank());
  }
  AddWeight(along.extents, constant.floats, &layer);
  if (repeated || !trains) Freeze(&layer);
  return node.results.Add(layer, {value});
}

// Makes the bias of a MatMul part of its layer. Returns false if another node reads the product.
bool AddedToProduct(const ImportNode& node, const ImportValue& value, const OnnxArray& constant,
                    int input) {
  LayerParameter* const layer = node.graph->Producer(value.blob);
  if (layer->type() != "InnerProduct" || layer->inner_product_param().bias_term() ||
      !node.inputs.IsOnlyReader(input) || constant.shape.rank() == 0 ||
      constant.count() != layer->inner_product_param().num_output() ||
      constant.shape.dims().back() != constant.count()) {
    return false;
  }
  layer->mutable_inner_product_param()->set_bias_term(true);
  AddWeight({constant.count()}, constant.floats, layer);
  node.results.Set(value);
  return true;
}

// Returns the constants as floats, negated for Sub and inverted for Div, if they come second.
OnnxArray AsSummandOrFactor(const ImportNode& node, OnnxArray constant, bool second) {
  if (constant.is_integers) {
    for (const int64_t integer : constant.integers)
      constant.floats.push_back(static_cast<float>(integer));
    constant.is_integers = false;
  }
  for (float& element : constant.floats) {
    if (second && node.op() == "Sub") element = -element;
    if (second && node.op() == "Div") element = 1 / element;
  }
  return constant;
}

// Turns a constant that is broadcast to an image N x H x W x C into one for N x C x H x W. Returns
// false if its elements would have to move.
bool Turn(OnnxArray* constant) {
  const auto varies = [](int64_t extent) { return extent != 1; };
  std::vector<int64_t> dims = constant->shape.dims();
  if (dims.size() > 4 || std::count_if(dims.begin(), dims.end(), varies) > 1) return false;
  dims.insert(dims.begin(), 4 - dims.size(), 1);
  constant->shape = Shape{dims[0], dims[3], dims[1], dims[2]};
  return true;
}

// Computes blob op constant or, if input `blob` is the second one, constant op blob.
void ImportWithConstant(const ImportNode& node, int blob) {
  OnnxArray constant = AsSummandOrFactor(node, node.inputs.Constant(1 - blob), blob == 0);
  const bool turned = node.inputs.MaybeTurned(blob).turned() && Turn(&constant);
  ImportValue value = turned ? AsStored(node.inputs.At(blob)) : node.inputs.Blob(blob);
  constant = OneSample(constant, value);
  if (node.op() == "Add" && AddedToProduct(node, value, constant, blob)) return;
  if (blob == 1 && node.op() == "Sub") value = Power(node, value, 1, -1, 0);
  if (blob == 1 && node.op() == "Div") value = Power(node, value, -1, 1, 0);
  if (constant.count() != 1 || FindAlong(node, value.shape, constant.shape).extents.rank() > 0) {
    return node.results.SetMaybeTurned(WithWeights(node, value, constant, IsProduct(node)), turned);
  }
  const double number = constant.at(0);
  node.results.SetMaybeTurned(
      IsProduct(node) ? Power(node, value, 1, number, 0) : Power(node, value, 1, 1, number),
      turned);
}

ImportValue Eltwise(const ImportNode& node, EltwiseParameter::EltwiseOp operation,
                    const std::vector<ImportValue>& values, float second = 1) {
  LayerParameter layer = LayerOf("Eltwise");
  layer.mutable_eltwise_param()->set_operation(operation);
  if (second != 1) {
    layer.mutable_eltwise_param()->add_coeff(1);
    layer.mutable_eltwise_param()->add_coeff(second);
  }
  return node.results.Add(layer, values);
}

// Computes large op small, where the smaller one varies along some axes of the larger one.
ImportValue Broadcast(const ImportNode& node, const ImportValue& large, const ImportValue& small) {
  const Along along = FindAlong(node, large.shape, small.shape, true);
  if (along.extents.rank() == 0) node.Refuse("Doppio does not broadcast a computed number");
  LayerParameter layer = LayerOf(IsProduct(node) ? "Scale" : "Bias");
  if (IsProduct(node)) {
    layer.mutable_scale_param()->set_axis(along.axis);
  } else {
    layer.mutable_bias_param()->set_axis(along.axis);
  }
  return node.results.Add(layer, {large, node.results.Reshaped(small, along.extents)});
}

// first op second, both computed.
void ImportOfTwo(const ImportNode& node) {
  const bool minus = node.op() == "Sub", divide = node.op() == "Div";
  const bool turned = node.inputs.MaybeTurned(0).turned() && node.inputs.MaybeTurned(1).turned();
  ImportValue a = turned ? AsStored(node.inputs.At(0)) : node.inputs.Blob(0);
  ImportValue b = turned ? AsStored(node.inputs.At(1)) : node.inputs.Blob(1);
  if (divide) b = Power(node, b, -1, 1, 0);
  if (a.shape == b.shape) {
    const auto operation = IsProduct(node) ? EltwiseParameter::PROD : EltwiseParameter::SUM;
    return node.results.SetMaybeTurned(Eltwise(node, operation, {a, b}, minus ? -1.0f : 1.0f),
                                       turned);
  }
  if (minus) b = Power(node, b, 1, -1, 0);
  const bool swapped = a.shape.count() < b.shape.count();
  node.results.SetMaybeTurned(swapped ? Broadcast(node, b, a) : Broadcast(node, a, b), turned);
}

void ImportArithmetic(const ImportNode& node) {
  if (node.inputs.count() != 2) node.Refuse("it has ", node.inputs.count(), " inputs");
  if (node.inputs.At(1).is_constant()) return ImportWithConstant(node, 0);
  if (node.inputs.At(0).is_constant()) return ImportWithConstant(node, 1);
  ImportOfTwo(node);
}
[[maybe_unused]] const bool arithmetic_imported =
    RegisterImports({"Add", "Sub", "Mul", "Div"}, &ImportArithmetic);

// Returns input `i` where `mask` is 1, and 0 where it is 0.
ImportValue Masked(const ImportNode& node, int i, const OnnxArray& mask) {
  return WithWeights(node, node.inputs.Blob(i), mask, true, false);
}

// Where with a constant condition: x times the condition plus y times its complement.
void ImportWhere(const ImportNode& node) {
  OnnxArray masks[2];
  const OnnxArray& condition = node.inputs.Constant(0);
  for (int i = 0; i < 2; ++i) {
    masks[i].shape = condition.shape;
    for (int64_t at = 0; at < condition.count(); ++at)
      masks[i].floats.push_back((condition.at(at) != 0) == (i == 0) ? 1.0f : 0.0f);
  }
  const int blob = node.inputs.At(1).is_constant() ? 2 : 1, other = 3 - blob;
  const Shape& shape = node.inputs.At(blob).shape;
  const OnnxArray mask = OneSample(masks[blob - 1], node.inputs.Blob(blob));
  const ImportValue masked = Masked(node, blob, mask);
  if (!node.inputs.At(other).is_constant()) {
    if (node.inputs.At(other).shape != shape) node.Refuse("its inputs have different shapes");
    return node.results.Set(Eltwise(
        node, EltwiseParameter::SUM,
        {masked, Masked(node, other, OneSample(masks[other - 1], node.inputs.Blob(other)))}));
  }
  OnnxArray summand = Broadcast(node, node.inputs.Floats(other), mask.shape);
  const OnnxArray keeps = Broadcast(node, mask, summand.shape);
  for (int64_t i = 0; i < summand.count(); ++i) {
    if (keeps.at(i) != 0) summand.floats[i] = 0;
  }
  node.results.Set(WithWeights(node, masked, summand, false, false));
}
[[maybe_unused]] const bool where_imported = RegisterImports({"Where"}, &ImportWhere);

// Sum, Max, Min and Mean of any number of values of one shape.
void ImportJoin(const ImportNode& node) {
  std::vector<ImportValue> values;
  for (int i = 0; i < node.inputs.count(); ++i) values.push_back(node.inputs.Blob(i));
  const bool smallest = node.op() == "Min", largest = smallest || node.op() == "Max";
  for (ImportValue& value : values) {
    if (value.shape != values[0].shape) node.Refuse("its inputs have different shapes");
    if (smallest) value = Power(node, value, 1, -1, 0);
  }
  if (values.size() == 1) return node.results.Set(node.inputs.At(0));
  ImportValue joined =
      Eltwise(node, largest ? EltwiseParameter::MAX : EltwiseParameter::SUM, values);
  if (smallest) joined = Power(node, joined, 1, -1, 0);
  if (node.op() == "Mean")
    joined = Power(node, joined, 1, 1 / static_cast<double>(values.size()), 0);
  node.results.Set(joined);
}
[[maybe_unused]] const bool joins_imported =
    RegisterImports({"Sum", "Max", "Min", "Mean"}, &ImportJoin);

}  // namespace
}  // namespace doppio

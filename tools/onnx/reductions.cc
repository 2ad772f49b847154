// The layers Softmax, Reduction and ArgMax.
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

void AddSoftmax(const OnnxLayer& layer) {
  const int64_t axis = layer.bottom().canonical_axis(layer.spec().param.softmax_param().axis());
  layer.SetTop(layer.Add("Softmax", {layer.in()}, {{"axis", axis}}));
}

void AddReduction(const OnnxLayer& layer) {
  const ReductionParameter& p = layer.spec().param.reduction_param();
  std::vector<int64_t> axes;
  for (int axis = layer.bottom().canonical_axis(p.axis()); axis < layer.bottom().rank(); ++axis) {
    axes.push_back(axis);
  }
  const OnnxAttributes attributes = {{"axes", axes}, {"keepdims", int64_t{0}}};
  // In opset 13, ReduceSum takes its axes as an input; the others take them as an attribute.
  std::string value =
      p.operation() == ReductionParameter::SUM
          ? layer.Add("ReduceSum", {layer.in(), layer.Integers(axes)}, {attributes[1]})
      : p.operation() == ReductionParameter::ASUM ? layer.Add("ReduceL1", {layer.in()}, attributes)
      : p.operation() == ReductionParameter::SUMSQ
          ? layer.Add("ReduceSumSquare", {layer.in()}, attributes)
          : layer.Add("ReduceMean", {layer.in()}, attributes);
  if (p.coeff() != 1)
    value = layer.Add("Mul", {value, layer.Scalar(static_cast<double>(p.coeff()))});
  layer.SetTop(value);
}

// The top_k largest values along an axis, which is kept, and their indices as floats. Among equal
// elements, ArgMax takes the last one, as Caffe does; TopK takes the first one.
struct Largest {
  std::string values, indices;
};

Largest AddLargest(const OnnxLayer& layer, const std::string& from, int64_t axis) {
  const int64_t count = layer.spec().param.argmax_param().top_k();
  const auto floats = [&](const std::string& integers) {
    return layer.Add("Cast", {integers}, {{"to", int64_t{onnx::TensorProto::FLOAT}}});
  };
  if (count > 1) {
    const std::vector<std::string> found =
        layer.AddSeveral("TopK", {from, layer.Integers({count})}, {{"axis", axis}}, 2);
    return {found[0], floats(found[1])};
  }
  const std::string index =
      layer.Add("ArgMax", {from},
                {{"axis", axis}, {"keepdims", int64_t{1}}, {"select_last_index", int64_t{1}}});
  return {layer.Add("ReduceMax", {from},
                    {{"axes", std::vector<int64_t>{axis}}, {"keepdims", int64_t{1}}}),
          floats(index)};
}

void AddArgMax(const OnnxLayer& layer) {
  const ArgMaxParameter& p = layer.spec().param.argmax_param();
  if (p.has_axis()) {
    const Largest found = AddLargest(layer, layer.in(), layer.bottom().canonical_axis(p.axis()));
    layer.SetTop(p.out_max_val() ? found.values : found.indices);
    return;
  }
  // Without an axis, the maximum is over whole samples; the top has the indices, then the values.
  const Shape rows{layer.bottom()[0], layer.bottom().count(1)};
  const Largest found = AddLargest(layer, layer.Reshape(layer.in(), layer.bottom(), rows), 1);
  const int64_t count = p.top_k();
  const std::string both =
      p.out_max_val() ? layer.Add("Concat", {found.indices, found.values}, {{"axis", int64_t{1}}})
                      : found.indices;
  layer.SetTop(layer.Reshape(both, {rows[0], p.out_max_val() ? 2 * count : count}, layer.top()));
}

DOPPIO_REGISTER(OnnxMappings, "Softmax", {"Softmax", &AddSoftmax});
DOPPIO_REGISTER(OnnxMappings, "Reduction",
                {"ReduceSum, ReduceL1, ReduceSumSquare, ReduceMean, Mul", &AddReduction});
DOPPIO_REGISTER(OnnxMappings, "ArgMax",
                {"ArgMax, ReduceMax, TopK, Cast, Concat, Reshape", &AddArgMax});

}  // namespace
}  // namespace doppio

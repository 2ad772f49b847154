#include "tools/onnx_import/sample_constants.h"

#include <algorithm>

namespace doppio {

OnnxArray OneSample(const OnnxArray& constant, const ImportValue& value) {
  const SamplePlace& place = value.samples;
  const int axis = place.axis - (value.shape.rank() - constant.shape.rank());
  if (!place.known() || place.count == 1 || axis < 0 || constant.shape[axis] == 1 ||
      constant.shape[axis] != value.shape[place.axis])
    return constant;
  OnnxArray one;
  one.shape = constant.shape;
  one.shape[axis] /= place.count;
  // The distance of neighbouring samples, in elements.
  const int64_t step = place.minor * constant.shape.count(axis + 1), all = step * place.count;
  for (int64_t i = 0; i < constant.count(); ++i) {
    const int64_t first = i / all * all + i % step;
    if (constant.floats[i] != constant.floats[first]) return constant;
    if (i == first) one.floats.push_back(constant.floats[i]);
  }
  return one;
}

ImportValue PerSample(const ImportNode& node, const OnnxArray& constant, bool trains) {
  if (constant.shape.rank() > 0 && constant.shape[0] != 1)
    node.Refuse("its constant differs between the samples of a batch");
  const NetParameter& net = node.graph->net();
  const ImportValue* const stored =
      net.layer_size() > 0 ? node.graph->Find(net.layer(0).top(0)) : nullptr;
  if (stored == nullptr || stored->is_constant() || stored->shape.rank() < 2 ||
      constant.shape.rank() == 0 || constant.is_integers)
    node.Refuse("Doppio cannot repeat its constant for each sample of an input");
  const ImportValue input = AsStored(*stored);
  // Any number of each sample, times 0 plus 1, times the constant.
  LayerParameter mean = LayerOf("Reduction");
  mean.mutable_reduction_param()->set_operation(ReductionParameter::MEAN);
  mean.mutable_reduction_param()->set_axis(1);
  LayerParameter one = LayerOf("Power");
  one.mutable_power_param()->set_scale(0);
  one.mutable_power_param()->set_shift(1);
  LayerParameter product = LayerOf("InnerProduct");
  product.mutable_inner_product_param()->set_num_output(node.Narrow(constant.count()));
  product.mutable_inner_product_param()->set_bias_term(false);
  AddWeight({constant.count(), 1}, constant.floats, &product);
  if (!trains) Freeze(&product);
  const ImportValue means =
      node.results.Reshaped(node.results.Add(mean, {input}), {input.shape[0], 1});
  Shape shape = constant.shape;
  shape[0] = input.shape[0];
  return node.results.Reshaped(node.results.Add(product, {node.results.Add(one, {means})}), shape);
}

}  // namespace doppio

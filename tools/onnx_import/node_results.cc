#include "tools/onnx_import/node_results.h"

#include <algorithm>
#include <set>

#include "core/base/checked_product.h"
#include "tools/onnx_import/node_name.h"

namespace doppio {

NodeResults::NodeResults(const onnx::NodeProto& node, ImportGraph* graph)
    : node_(node), graph_(graph) {
  if (node.output_size() == 0) RefuseNode(node, "it has no output");
  std::set<std::string> made;
  for (const std::string& output : node.output()) {
    if (output.empty()) continue;
    if (graph->Find(output) != nullptr || !made.insert(output).second)
      RefuseNode(node, "the model has another value with the name of its output '", output, "'");
  }
}

std::vector<ImportValue> NodeResults::AddSeveral(const LayerParameter& layer,
                                                 const std::vector<ImportValue>& bottoms,
                                                 int tops) const {
  std::vector<std::string> wishes;
  for (int i = 0; i < tops; ++i) {
    const std::string& output = node_.output(std::min(i, node_.output_size() - 1));
    wishes.push_back(output.empty() ? node_.output(0) : output);
  }
  try {
    return graph_->Add(layer, WishedName(node_), bottoms, wishes);
  } catch (const Error& e) {
    RefuseNode(node_, "as a layer ", layer.type(), " it does not fit: ", e.message());
  }
}

ImportValue NodeResults::Add(const LayerParameter& layer,
                             const std::vector<ImportValue>& bottoms) const {
  return AddSeveral(layer, bottoms, 1)[0];
}

ImportValue NodeResults::Reshaped(const ImportValue& value, const Shape& shape) const {
  if (value.shape == shape) return value;
  if (value.shape.count() != shape.count())
    RefuseNode(node_, "it makes ", shape.ToString(), " of ", value.shape.ToString());
  const SamplePlace place = ReshapedPlace(value.samples, value.shape, shape);
  const bool keeps_first = value.shape.rank() > 0 && shape.rank() > 0 &&
                           shape[0] == value.shape[0] &&
                           (!place.known() || (place.axis == 0 && value.samples.axis == 0));
  LayerParameter layer = LayerOf("Flatten");
  if (shape.rank() != 2 || value.shape.rank() < 2 || !keeps_first) {
    layer = LayerOf("Reshape");
    BlobShape* const to = layer.mutable_reshape_param()->mutable_shape();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      // 0 copies the batch and -1 finds its multiple, so that the net also works with another one.
      const bool same = axis == 0 && keeps_first;
      to->add_dim(same ? 0 : axis == place.axis ? -1 : shape[axis]);
    }
  }
  ImportValue reshaped = Add(layer, {value});
  reshaped.samples = place;
  return reshaped;
}

ImportValue NodeResults::Permuted(const ImportValue& value,
                                  const std::vector<int64_t>& order) const {
  if (std::is_sorted(order.begin(), order.end())) return value;
  LayerParameter layer = LayerOf("Permute");
  for (const int64_t axis : order)
    layer.mutable_permute_param()->add_order(static_cast<uint32_t>(axis));
  return Add(layer, {value});
}

void NodeResults::Set(OnnxArray constant) const {
  const Shape shape = constant.shape;
  Set({"", shape, std::move(constant), {}, "", {}});
}

void NodeResults::SetMaybeTurned(const ImportValue& stored, bool turned) const {
  Set(turned ? ChannelsLast(stored, WishedName(node_) + "_channels_last") : stored);
}

size_t NodeResults::Room(const Shape& shape, size_t element_bytes) const {
  if (shape.rank() > kMaxAxes) RefuseNode(node_, "its result would have ", shape.rank(), " axes");
  const auto count = CheckedProduct(shape.dims());
  const auto bytes = count.value_or(0) * static_cast<int64_t>(element_bytes);
  if (!count || !graph_->Spend(bytes)) {
    RefuseNode(node_, "its result would be ", shape.ToString(),
               "; the model's nodes compute constants of too many elements");
  }
  return static_cast<size_t>(*count);
}

LayerParameter LayerOf(const std::string& type) {
  LayerParameter layer;
  layer.set_type(type);
  return layer;
}

void AddWeight(const Shape& shape, const std::vector<float>& values, LayerParameter* layer) {
  BlobProto* const blob = layer->add_blobs();
  for (const int64_t dim : shape.dims()) blob->mutable_shape()->add_dim(dim);
  *blob->mutable_data() = {values.begin(), values.end()};
}

void Freeze(LayerParameter* layer) {
  ParamSpec* const param = layer->add_param();
  param->set_lr_mult(0);
  param->set_decay_mult(0);
}

}  // namespace doppio

#include "tools/onnx_import/import_node.h"

#include <algorithm>

#include "core/base/checked_product.h"
#include "core/base/error.h"
#include "core/base/narrowed.h"

namespace doppio {

ImportNode::ImportNode(const onnx::NodeProto& node, ImportGraph* graph)
    : node_(node), graph_(graph) {
  for (const std::string& input : node.input()) {
    if (!input.empty() && graph->Find(input) == nullptr)
      Refuse("no earlier node and no constant is its input '" + input + "'");
  }
  if (node.output_size() == 0) Refuse("it has no output");
  std::set<std::string> made;
  for (const std::string& output : node.output()) {
    if (output.empty()) continue;
    if (graph->Find(output) != nullptr || !made.insert(output).second)
      Refuse("the model has another value with the name of its output '" + output + "'");
  }
}

std::string ImportNode::Name() const { return "node '" + Wish() + "' (" + op() + ")"; }

bool ImportNode::IsOnlyReader(int i) const {
  // Another name of the blob would be that of a node without a layer, which also reads the value.
  return in(i).blob == node_.input(i) && graph_->Readers(node_.input(i)) == 1;
}

const ImportValue& ImportNode::in(int i) const {
  if (!Has(i)) Refuse("it has no input " + std::to_string(i));
  return *graph_->Find(node_.input(i));
}

const ImportValue& ImportNode::MaybeTurned(int i) const {
  const ImportValue& value = in(i);
  if (value.is_constant())
    Refuse("its input " + std::to_string(i) + " is a constant, which Doppio cannot compute with");
  return value;
}

const ImportValue& ImportNode::Blob(int i) const {
  return MaybeTurned(i).turned() ? graph_->InOrder(node_.input(i)) : in(i);
}

void ImportNode::SetElementwise(const std::vector<LayerParameter>& layers) const {
  const bool turned = MaybeTurned(0).turned();
  ImportValue value = AsStored(in(0));
  for (const LayerParameter& layer : layers) value = Add(layer, {value});
  SetOutOf(value, turned);
}

const OnnxArray& ImportNode::Constant(int i) const {
  const ImportValue& value = in(i);
  if (!value.is_constant()) {
    Refuse("its input ", i, ", '", node_.input(i), "', is computed; Doppio needs a constant there");
  }
  return value.constant;
}

const OnnxArray& ImportNode::Floats(int i) const {
  const OnnxArray& array = Constant(i);
  if (array.is_integers) Refuse("its input " + std::to_string(i) + " must be floats");
  return array;
}

std::vector<int64_t> ImportNode::Integers(int i) const {
  const OnnxArray& array = Constant(i);
  if (!array.is_integers) Refuse("its input " + std::to_string(i) + " must be integers");
  return array.integers;
}

double ImportNode::Number(int i) const {
  const OnnxArray& array = Constant(i);
  if (array.count() != 1)
    Refuse("its input " + std::to_string(i) + " must be one number, not " + array.shape.ToString());
  return array.at(0);
}

const onnx::AttributeProto* ImportNode::Attribute(const std::string& name,
                                                  onnx::AttributeProto::AttributeType type) const {
  asked_.insert(name);
  for (const onnx::AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() != name) continue;
    // Old models state no types.
    const bool typed = type != onnx::AttributeProto::UNDEFINED && attribute.has_type();
    if (typed && attribute.type() != type)
      Refuse("its attribute '" + name + "' has another type than ONNX's");
    return &attribute;
  }
  return nullptr;
}

bool ImportNode::HasAttribute(const std::string& name) const { return Attribute(name) != nullptr; }

int64_t ImportNode::Int(const std::string& name, int64_t value) const {
  const onnx::AttributeProto* const found = Attribute(name, onnx::AttributeProto::INT);
  return found == nullptr ? value : found->i();
}

float ImportNode::Float(const std::string& name, float value) const {
  const onnx::AttributeProto* const found = Attribute(name, onnx::AttributeProto::FLOAT);
  return found == nullptr ? value : found->f();
}

std::string ImportNode::Text(const std::string& name, const std::string& value) const {
  const onnx::AttributeProto* const found = Attribute(name, onnx::AttributeProto::STRING);
  return found == nullptr ? value : found->s();
}

std::vector<int64_t> ImportNode::Ints(const std::string& name, std::vector<int64_t> value) const {
  const onnx::AttributeProto* const found = Attribute(name, onnx::AttributeProto::INTS);
  if (found == nullptr) return value;
  return {found->ints().begin(), found->ints().end()};
}

void ImportNode::CheckAttributes() const {
  for (const onnx::AttributeProto& attribute : node_.attribute()) {
    if (asked_.count(attribute.name()) == 0)
      Refuse("Doppio does not know its attribute '" + attribute.name() + "'");
  }
}

int ImportNode::Axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    Refuse("it has no axis " + std::to_string(axis) + ", but " + std::to_string(rank) + " axes");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> ImportNode::Axes(const std::vector<int64_t>& given, int rank) const {
  std::set<int> axes;
  for (const int64_t axis : given) {
    if (!axes.insert(Axis(axis, rank)).second) Refuse("it names an axis twice");
  }
  return {axes.begin(), axes.end()};
}

int ImportNode::Narrow(int64_t value) const {
  const std::optional<int> narrow = Narrowed<int>(value);
  if (narrow.value_or(-1) >= 0) return *narrow;
  Refuse("it has the number ", value, "; Doppio's layers have 0 to ", INT32_MAX, " there");
}

size_t ImportNode::Room(const Shape& shape, size_t element_bytes) const {
  if (shape.rank() > kMaxAxes)
    Refuse("its result would have " + std::to_string(shape.rank()) + " axes");
  const auto count = CheckedProduct(shape.dims());
  const auto bytes = count.value_or(0) * static_cast<int64_t>(element_bytes);
  if (!count || !graph_->Spend(bytes)) {
    Refuse("its result would be " + shape.ToString() +
           "; the model's nodes compute constants of too many elements");
  }
  return static_cast<size_t>(*count);
}

std::vector<ImportValue> ImportNode::AddSeveral(const LayerParameter& layer,
                                                const std::vector<ImportValue>& bottoms,
                                                int tops) const {
  std::vector<std::string> wishes;
  for (int i = 0; i < tops; ++i) {
    const std::string& output = node_.output(std::min(i, outputs() - 1));
    wishes.push_back(output.empty() ? node_.output(0) : output);
  }
  try {
    return graph_->Add(layer, Wish(), bottoms, wishes);
  } catch (const Error& e) {
    Refuse("as a layer " + layer.type() + " it does not fit: " + e.message());
  }
}

ImportValue ImportNode::Add(const LayerParameter& layer,
                            const std::vector<ImportValue>& bottoms) const {
  return AddSeveral(layer, bottoms, 1)[0];
}

ImportValue ImportNode::Reshaped(const ImportValue& value, const Shape& shape) const {
  if (value.shape == shape) return value;
  if (value.shape.count() != shape.count())
    Refuse("it makes " + shape.ToString() + " of " + value.shape.ToString());
  if (shape.rank() == 2 && value.shape.rank() > 1 && shape[0] == value.shape[0])
    return Add(LayerOf("Flatten"), {value});
  LayerParameter layer = LayerOf("Reshape");
  BlobShape* const to = layer.mutable_reshape_param()->mutable_shape();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    // 0 copies the batch, so that the net also works with another one.
    const bool same = axis == 0 && value.shape.rank() > 0 && shape[0] == value.shape[0];
    to->add_dim(same ? 0 : shape[axis]);
  }
  return Add(layer, {value});
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

bool RegisterImports(std::initializer_list<const char*> operators, ImportFunction import) {
  for (const char* op : operators) OnnxImports::Get().Add(op, {import});
  return true;
}

}  // namespace doppio

#include "tools/onnx_import/import_node.h"

#include <set>

#include "core/base/narrowed.h"

namespace doppio {

ImportNode::ImportNode(const onnx::NodeProto& node, ImportGraph* its_graph)
    : proto(node),
      graph(its_graph),
      attributes(node),
      inputs(node, its_graph),
      results(node, its_graph) {}

void ImportNode::SetElementwise(const std::vector<LayerParameter>& layers) const {
  const bool turned = inputs.MaybeTurned(0).turned();
  ImportValue value = AsStored(inputs.At(0));
  for (const LayerParameter& layer : layers) value = results.Add(layer, {value});
  results.SetMaybeTurned(value, turned);
}

int ImportNode::Axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) Refuse("it has no axis ", axis, ", but ", rank, " axes");
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

bool RegisterImports(std::initializer_list<const char*> operators, ImportFunction import) {
  for (const char* op : operators) OnnxImports::Get().Add(op, {import});
  return true;
}

}  // namespace doppio

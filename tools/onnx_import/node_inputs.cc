#include "tools/onnx_import/node_inputs.h"

#include "tools/onnx_import/node_name.h"

namespace doppio {

NodeInputs::NodeInputs(const onnx::NodeProto& node, ImportGraph* graph)
    : node_(node), graph_(graph) {
  for (const std::string& input : node.input()) {
    if (!input.empty() && graph->Find(input) == nullptr)
      RefuseNode(node, "no earlier node and no constant is its input '", input, "'");
  }
}

bool NodeInputs::IsOnlyReader(int i) const {
  // Another name of the blob would be that of a node without a layer, which also reads the value.
  return At(i).blob == node_.input(i) && graph_->Readers(node_.input(i)) == 1;
}

const ImportValue& NodeInputs::At(int i) const {
  if (!Has(i)) RefuseNode(node_, "it has no input ", i);
  return *graph_->Find(node_.input(i));
}

const ImportValue& NodeInputs::MaybeTurned(int i) const {
  const ImportValue& value = At(i);
  if (value.is_constant())
    RefuseNode(node_, "its input ", i,
               " is a constant, which Doppio cannot compute with; export the "
               "model with constant folding");
  return value;
}

const ImportValue& NodeInputs::Blob(int i) const {
  return MaybeTurned(i).turned() ? graph_->InOrder(node_.input(i)) : At(i);
}

const OnnxArray& NodeInputs::Constant(int i) const {
  const ImportValue& value = At(i);
  if (!value.is_constant()) {
    RefuseNode(node_, "its input ", i, ", '", node_.input(i),
               "', is computed; Doppio needs a constant there");
  }
  return value.constant;
}

const OnnxArray& NodeInputs::Floats(int i) const {
  const OnnxArray& array = Constant(i);
  if (array.is_integers) RefuseNode(node_, "its input ", i, " must be floats");
  return array;
}

std::vector<int64_t> NodeInputs::Integers(int i) const {
  const OnnxArray& array = Constant(i);
  if (!array.is_integers) RefuseNode(node_, "its input ", i, " must be integers");
  return array.integers;
}

double NodeInputs::Number(int i) const {
  const OnnxArray& array = Constant(i);
  if (array.count() != 1) {
    RefuseNode(node_, "its input ", i, " must be one number, not ", array.shape.ToString());
  }
  return array.at(0);
}

}  // namespace doppio

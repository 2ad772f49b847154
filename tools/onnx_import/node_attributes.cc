#include "tools/onnx_import/node_attributes.h"

#include "tools/onnx_import/node_name.h"

namespace doppio {

const onnx::AttributeProto* NodeAttributes::Find(const std::string& name,
                                                 onnx::AttributeProto::AttributeType type) const {
  asked_.insert(name);
  for (const onnx::AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() != name) continue;
    // Old models state no types.
    const bool typed = type != onnx::AttributeProto::UNDEFINED && attribute.has_type();
    if (typed && attribute.type() != type)
      RefuseNode(node_, "its attribute '", name, "' has another type than ONNX's");
    return &attribute;
  }
  return nullptr;
}

int64_t NodeAttributes::Int(const std::string& name, int64_t value) const {
  const onnx::AttributeProto* const found = Find(name, onnx::AttributeProto::INT);
  return found == nullptr ? value : found->i();
}

float NodeAttributes::Float(const std::string& name, float value) const {
  const onnx::AttributeProto* const found = Find(name, onnx::AttributeProto::FLOAT);
  return found == nullptr ? value : found->f();
}

std::string NodeAttributes::Text(const std::string& name, const std::string& value) const {
  const onnx::AttributeProto* const found = Find(name, onnx::AttributeProto::STRING);
  return found == nullptr ? value : found->s();
}

std::vector<int64_t> NodeAttributes::Ints(const std::string& name,
                                          std::vector<int64_t> value) const {
  const onnx::AttributeProto* const found = Find(name, onnx::AttributeProto::INTS);
  if (found == nullptr) return value;
  return {found->ints().begin(), found->ints().end()};
}

void NodeAttributes::CheckAllKnown() const {
  for (const onnx::AttributeProto& attribute : node_.attribute()) {
    if (asked_.count(attribute.name()) == 0)
      RefuseNode(node_, "Doppio does not know its attribute '", attribute.name(), "'");
  }
}

}  // namespace doppio

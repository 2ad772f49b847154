// The attributes of a node of an ONNX model.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_NODE_ATTRIBUTES_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_NODE_ATTRIBUTES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "proto/onnx.pb.h"

namespace doppio {

// Notes which attributes a call has asked for: one that no call asks for is a mistake. Not
// thread-safe.
class NodeAttributes {
 public:
  // `node` must outlive this object.
  explicit NodeAttributes(const onnx::NodeProto& node) : node_(node) {}

  // Return an attribute, or the value if it is absent. Throw UserError for an attribute of another
  // type.
  int64_t Int(const std::string& name, int64_t value) const;
  float Float(const std::string& name, float value) const;
  std::string Text(const std::string& name, const std::string& value) const;
  std::vector<int64_t> Ints(const std::string& name, std::vector<int64_t> value) const;
  bool Has(const std::string& name) const { return Find(name) != nullptr; }
  // Returns null if the attribute is absent. UNDEFINED: any type.
  const onnx::AttributeProto* Find(
      const std::string& name,
      onnx::AttributeProto::AttributeType type = onnx::AttributeProto::UNDEFINED) const;

  // Throws UserError for an attribute that the node has and no call has asked for.
  void CheckAllKnown() const;

 private:
  const onnx::NodeProto& node_;
  mutable std::set<std::string> asked_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_NODE_ATTRIBUTES_H_

// One node of an ONNX model, as seen by the function that makes layers of it, and the registry of
// these functions by operator.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_IMPORT_NODE_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_IMPORT_NODE_H_

#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/registry.h"
#include "tools/onnx_import/import_graph.h"

namespace doppio {

class ImportNode {
 public:
  // Throws UserError if an input has not been computed.
  ImportNode(const onnx::NodeProto& node, ImportGraph* graph);

  const std::string& op() const { return node_.op_type(); }
  int opset() const { return graph_->opset(); }
  ImportGraph* graph() const { return graph_; }

  int inputs() const { return node_.input_size(); }
  int outputs() const { return node_.output_size(); }
  // Returns true if input `i` is given; trailing inputs and those with an empty name are absent.
  bool Has(int i) const { return i < inputs() && !node_.input(i).empty(); }
  // Returns true if no other node and no output of the model reads input `i`.
  bool IsOnlyReader(int i) const;
  // Returns input `i`. Throws UserError if it is absent.
  const ImportValue& in(int i) const;
  // Returns input `i`, which must be a blob, in the model's order of axes. Throws UserError.
  const ImportValue& Blob(int i) const;
  // Returns the same, perhaps turned.
  const ImportValue& MaybeTurned(int i) const;
  // Returns input `i`, which must be a constant. Throws UserError.
  const OnnxArray& Constant(int i) const;
  // Return the same, which must be floats or integers.
  const OnnxArray& Floats(int i) const;
  std::vector<int64_t> Integers(int i) const;
  // Returns the only element of a constant.
  double Number(int i) const;

  // Return attributes, or the value if they are absent. An attribute that no call asks for is a
  // mistake: see CheckAttributes. Throw UserError for an attribute of another type.
  bool HasAttribute(const std::string& name) const;
  int64_t Int(const std::string& name, int64_t value) const;
  float Float(const std::string& name, float value) const;
  std::string Text(const std::string& name, const std::string& value) const;
  std::vector<int64_t> Ints(const std::string& name, std::vector<int64_t> value) const;
  // UNDEFINED: any type.
  const onnx::AttributeProto* Attribute(
      const std::string& name,
      onnx::AttributeProto::AttributeType type = onnx::AttributeProto::UNDEFINED) const;
  // Throws UserError for an attribute that the node has and its function has not asked for.
  void CheckAttributes() const;

  // Returns the axis as a non-negative number. Throws UserError if a value of `rank` axes lacks it.
  int Axis(int64_t axis, int rank) const;
  // Returns such axes, ascending. Throws UserError if an axis occurs twice.
  std::vector<int> Axes(const std::vector<int64_t>& given, int rank) const;
  // Returns a number for a layer's parameter. Throws UserError if it is negative or has more than
  // 31 bits.
  int Narrow(int64_t value) const;
  // Returns the number of elements of an array that the node is about to compute. Throws UserError
  // if it is too large, alone or together with those of the other nodes.
  size_t Room(const Shape& shape, size_t element_bytes) const;

  // Adds a layer behind the blobs `bottoms`, with one top. Throws UserError if it does not fit.
  ImportValue Add(const LayerParameter& layer, const std::vector<ImportValue>& bottoms) const;
  std::vector<ImportValue> AddSeveral(const LayerParameter& layer,
                                      const std::vector<ImportValue>& bottoms, int tops) const;
  // Returns `value` in another shape with as many elements, and `value` itself if it has the shape.
  ImportValue Reshaped(const ImportValue& value, const Shape& shape) const;

  const std::string& output(int i = 0) const { return node_.output(i); }
  void SetOut(ImportValue value, int i = 0) const {
    graph_->Set(node_.output(i), std::move(value));
  }
  void SetOut(OnnxArray constant) const {
    const Shape shape = constant.shape;
    SetOut({"", shape, std::move(constant), {}, ""});
  }
  // Sets the output to an image N x H x W x C if `turned`, of which `stored` is N x C x H x W, or
  // else to `stored`.
  void SetOutOf(const ImportValue& stored, bool turned) const {
    SetOut(turned ? ChannelsLast(stored, Wish() + "_channels_last") : stored);
  }
  // Adds layers behind input 0, one behind the other, that compute each element by itself, and sets
  // the output.
  void SetElementwise(const std::vector<LayerParameter>& layers) const;

  // Throws UserError with the node's name, its operator and the parts of a text, as StrCat takes
  // them.
  template <class... Parts>
  [[noreturn]] void Refuse(const Parts&... why) const {
    throw UserError({}, Name(), ": ", why...);
  }
  // Returns the node's name and operator for messages.
  std::string Name() const;

  // Returns the name for the node's layers: its own, or that of its output, or its operator.
  const std::string& Wish() const {
    if (!node_.name().empty()) return node_.name();
    return outputs() > 0 ? output() : op();
  }

 private:
  const onnx::NodeProto& node_;
  ImportGraph* const graph_;
  mutable std::set<std::string> asked_;
};

// Returns a layer of this type without names.
LayerParameter LayerOf(const std::string& type);
// Appends a weight to the layer.
void AddWeight(const Shape& shape, const std::vector<float>& values, LayerParameter* layer);

// Makes layers of a node, and sets its outputs. Throws UserError.
using ImportFunction = void (*)(const ImportNode& node);
struct OnnxImport {
  ImportFunction import;
};
using OnnxImports = Registry<OnnxImport>;

// Registers one function for several operators. Returns true.
bool RegisterImports(std::initializer_list<const char*> operators, ImportFunction import);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_IMPORT_NODE_H_

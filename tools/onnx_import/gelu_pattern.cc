#include "tools/onnx_import/gelu_pattern.h"

#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "tools/onnx_import/onnx_array.h"

namespace doppio {
namespace {

class GeluFinder {
 public:
  explicit GeluFinder(const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) AddNumber(tensor.name(), tensor);
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
      for (const std::string& output : node.output()) producers_[output] = &node;
      if (node.op_type() != "Constant" || node.output_size() != 1) continue;
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.name() == "value") AddNumber(node.output(0), attribute.t());
        if (attribute.name() == "value_float") numbers_[node.output(0)] = attribute.f();
      }
    }
    // An output of the model is read once more.
    for (const onnx::ValueInfoProto& output : graph.output())
      readers_[output.name()].push_back(nullptr);
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.op_type() == "Erf" && node.input_size() == 1 && node.output_size() == 1) Match(node);
    }
  }

  GeluPatterns found;

 private:
  void AddNumber(const std::string& name, const onnx::TensorProto& tensor) {
    for (const int64_t dim : tensor.dims()) {
      if (dim != 1) return;
    }
    try {
      numbers_[name] = ReadOnnxArray(tensor, "").at(0);
    } catch (const Error&) {
      return;  // import reports it
    }
  }

  bool IsNumber(const std::string& value, double number) const {
    const auto found_number = numbers_.find(value);
    return found_number != numbers_.end() && std::fabs(found_number->second - number) < 1e-5;
  }

  // Returns the operand other than `value` of a node with this operator and two operands, or "".
  static std::string Other(const onnx::NodeProto* node, const char* op, const std::string& value) {
    if (node == nullptr || node->op_type() != op || node->input_size() != 2) return "";
    if (node->input(0) == value) return node->input(1);
    return node->input(1) == value ? node->input(0) : "";
  }

  // Returns the only node that reads the only output of `node`, or null.
  const onnx::NodeProto* OnlyReader(const onnx::NodeProto& node) const {
    const auto reading = readers_.find(node.output(0));
    return reading != readers_.end() && reading->second.size() == 1 ? reading->second[0] : nullptr;
  }

  const onnx::NodeProto* ProducerOf(const std::string& value) const {
    const auto producer = producers_.find(value);
    return producer == producers_.end() ? nullptr : producer->second;
  }

  // Returns x if `node` computes x * number, with either order of operands, or x / (1 / number).
  std::string Scaled(const onnx::NodeProto* node, double number) const {
    if (node == nullptr || node->input_size() != 2) return "";
    if (node->op_type() == "Div" && IsNumber(node->input(1), 1 / number)) return node->input(0);
    if (node->op_type() != "Mul") return "";
    if (IsNumber(node->input(1), number)) return node->input(0);
    return IsNumber(node->input(0), number) ? node->input(1) : "";
  }

  void Match(const onnx::NodeProto& erf) {
    const onnx::NodeProto* const divided = ProducerOf(erf.input(0));
    const std::string x = Scaled(divided, std::sqrt(0.5));
    if (x.empty() || OnlyReader(*divided) != &erf) return;
    const onnx::NodeProto* const sum = OnlyReader(erf);
    if (!IsNumber(Other(sum, "Add", erf.output(0)), 1)) return;
    const onnx::NodeProto* const product = OnlyReader(*sum);
    const std::string factor = Other(product, "Mul", sum->output(0));
    if (factor.empty()) return;
    std::set<const onnx::NodeProto*> others = {divided, &erf, sum};
    const onnx::NodeProto* const half = ProducerOf(factor);
    const onnx::NodeProto* last = product;
    if (Scaled(half, 0.5) == x) {
      if (OnlyReader(*half) == product) others.insert(half);
    } else {
      last = OnlyReader(*product);
      const bool right = factor == x
                             ? Scaled(last, 0.5) == product->output(0)
                             : IsNumber(factor, 0.5) && Other(last, "Mul", product->output(0)) == x;
      if (!right) return;
      others.insert(product);
    }
    found.last[last] = x;
    found.others.insert(others.begin(), others.end());
  }

  std::map<std::string, double> numbers_;  // constants of one element
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;
  std::map<std::string, const onnx::NodeProto*> producers_;
};

}  // namespace

GeluPatterns FindGelus(const onnx::GraphProto& graph) { return GeluFinder(graph).found; }

}  // namespace doppio

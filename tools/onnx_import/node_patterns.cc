#include "tools/onnx_import/node_patterns.h"

#include <cmath>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/onnx_import/onnx_array.h"

namespace doppio {
namespace {

class PatternFinder {
 public:
  explicit PatternFinder(const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      AddNumber(tensor.name(), tensor);
      if (tensor.dims_size() == 1) vectors_.insert(tensor.name());
    }
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
      for (const std::string& output : node.output()) producers_[output] = &node;
      if (node.op_type() == "Identity" && node.input_size() == 1 && node.output_size() == 1 &&
          vectors_.count(node.input(0)) > 0)
        vectors_.insert(node.output(0));
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
      if (Is(&node, "Erf", 1)) MatchGelu(node);
      if (Is(&node, "Div", 2)) MatchLayerNorm(node);
    }
  }

  NodePatterns found;

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

  static bool Is(const onnx::NodeProto* node, const char* op, int inputs) {
    return node != nullptr && node->op_type() == op && node->input_size() == inputs &&
           node->output_size() == 1;
  }

  // Returns the operand other than `value` of a node with this operator and two operands, or "".
  static std::string Other(const onnx::NodeProto* node, const char* op, const std::string& value) {
    if (!Is(node, op, 2)) return "";
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

  // Notes that `node` computes what `last` and `others` compute.
  void Add(onnx::NodeProto node, const onnx::NodeProto* last,
           const std::set<const onnx::NodeProto*>& others) {
    node.set_name(last->name());
    node.add_output(last->output(0));
    found.last[last] = node;
    found.others.insert(others.begin(), others.end());
  }

  void MatchGelu(const onnx::NodeProto& erf) {
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
    onnx::NodeProto gelu;
    gelu.set_op_type("Gelu");
    gelu.add_input(x);
    Add(gelu, last, others);
  }

  // Returns x if `node` is the mean of x over its last axis, which the result keeps, or "".
  static std::string LastMeanOf(const onnx::NodeProto* node) {
    if (!Is(node, "ReduceMean", 1)) return "";
    bool last = false;
    for (const onnx::AttributeProto& attribute : node->attribute()) {
      if (attribute.name() == "keepdims" && attribute.i() == 0) return "";
      if (attribute.name() == "axes") last = attribute.ints_size() == 1 && attribute.ints(0) == -1;
    }
    return last ? node->input(0) : "";
  }

  bool IsSquare(const onnx::NodeProto* node, const std::string& of) const {
    return Other(node, "Mul", of) == of ||
           (Is(node, "Pow", 2) && node->input(0) == of && IsNumber(node->input(1), 2));
  }

  void MatchLayerNorm(const onnx::NodeProto& quotient) {
    const std::string& centred = quotient.input(0);
    const onnx::NodeProto *const difference = ProducerOf(centred), *const root = ProducerOf(
                                                                       quotient.input(1));
    if (!Is(difference, "Sub", 2) || !Is(root, "Sqrt", 1)) return;
    const onnx::NodeProto *const mean = ProducerOf(difference->input(1)), *const sum = ProducerOf(
                                                                              root->input(0));
    if (LastMeanOf(mean) != difference->input(0) || !Is(sum, "Add", 2)) return;
    const onnx::NodeProto* const variance = ProducerOf(sum->input(0));
    const onnx::NodeProto* const square = ProducerOf(LastMeanOf(variance));
    const auto epsilon = numbers_.find(sum->input(1));
    if (!IsSquare(square, centred) || epsilon == numbers_.end()) return;
    const onnx::NodeProto* const product = OnlyReader(quotient);
    const std::string weight = Other(product, "Mul", quotient.output(0));
    const onnx::NodeProto* const last = weight.empty() ? nullptr : OnlyReader(*product);
    const std::string bias = weight.empty() ? "" : Other(last, "Add", product->output(0));
    if (vectors_.count(weight) == 0 || vectors_.count(bias) == 0) return;
    for (const onnx::NodeProto* reader : readers_[centred]) {
      if (reader != square && reader != &quotient) return;
    }
    for (const onnx::NodeProto* node : {mean, square, variance, sum, root}) {
      if (OnlyReader(*node) == nullptr) return;
    }
    onnx::NodeProto norm;
    norm.set_op_type("LayerNormalization");
    for (const std::string& input : {difference->input(0), weight, bias}) norm.add_input(input);
    onnx::AttributeProto* const attribute = norm.add_attribute();
    attribute->set_name("epsilon");
    attribute->set_f(static_cast<float>(epsilon->second));
    Add(norm, last, {mean, difference, square, variance, sum, root, &quotient, product});
  }

  std::map<std::string, double> numbers_;  // constants of one element
  std::set<std::string> vectors_;          // constants with one axis
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;
  std::map<std::string, const onnx::NodeProto*> producers_;
};

}  // namespace

NodePatterns FindPatterns(const onnx::GraphProto& graph) { return PatternFinder(graph).found; }

}  // namespace doppio

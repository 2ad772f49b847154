#include "tools/onnx_import/turned_images.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "tools/onnx_import/import_graph.h"

namespace doppio {
namespace {

// Operators with which models prepare images, and which import computes in either order of axes.
const std::set<std::string>& ElementwiseOps() {
  static const auto* ops =
      new std::set<std::string>{"Add", "Sub", "Mul", "Div", "Clip", "Cast", "Identity", "Pad"};
  return *ops;
}

}  // namespace

bool IsTurn(const onnx::NodeProto& node) {
  if (node.op_type() != "Transpose" || node.input_size() != 1 || node.output_size() != 1)
    return false;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != "perm") continue;
    return std::equal(attribute.ints().begin(), attribute.ints().end(), kChannelsFirst.begin(),
                      kChannelsFirst.end());
  }
  return false;
}

bool IsTurnedAtOnce(const onnx::GraphProto& graph, const std::string& input) {
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers;
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& value : node.input()) readers[value].push_back(&node);
  }
  std::set<std::string> outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) outputs.insert(output.name());
  std::set<std::string> seen = {input};
  std::vector<std::string> waiting = {input};
  bool turned = false;
  while (!waiting.empty()) {
    const std::string value = waiting.back();
    waiting.pop_back();
    if (outputs.count(value) > 0) return false;
    for (const onnx::NodeProto* node : readers[value]) {
      turned |= IsTurn(*node);
      if (IsTurn(*node)) continue;
      if (ElementwiseOps().count(node->op_type()) == 0 || node->output_size() != 1) return false;
      if (seen.insert(node->output(0)).second) waiting.push_back(node->output(0));
    }
  }
  return turned;
}

}  // namespace doppio

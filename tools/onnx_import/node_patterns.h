// Finds the operators that exporters write as several nodes in models of older opsets: GELU before
// opset 20, x * (1 + erf(x / sqrt(2))) * 0.5 with the factors in any order, and LayerNormalization
// before opset 17, (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * weight + bias.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_NODE_PATTERNS_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_NODE_PATTERNS_H_

#include <map>
#include <set>

#include "proto/onnx.pb.h"

namespace doppio {

struct NodePatterns {
  // The last node of each pattern, and the node that computes all of it.
  std::map<const onnx::NodeProto*, onnx::NodeProto> last;
  // The other nodes, whose results nothing else reads.
  std::set<const onnx::NodeProto*> others;
};

// The pointers are to nodes of `graph`.
NodePatterns FindPatterns(const onnx::GraphProto& graph);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_NODE_PATTERNS_H_

// Finds GELU in models of opsets before 20, which have no operator for it: exporters write
// x * (1 + erf(x / sqrt(2))) * 0.5, with the factors in any order.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_GELU_PATTERN_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_GELU_PATTERN_H_

#include <map>
#include <set>
#include <string>

#include "proto/onnx.pb.h"

namespace doppio {

struct GeluPatterns {
  // The last node of each pattern, and the value x whose GELU it computes.
  std::map<const onnx::NodeProto*, std::string> last;
  // The other nodes, whose results nothing else reads.
  std::set<const onnx::NodeProto*> others;
};

// The pointers are to nodes of `graph`.
GeluPatterns FindGelus(const onnx::GraphProto& graph);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_GELU_PATTERN_H_

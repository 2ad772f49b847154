// What a net computes of random input, for comparison with its ONNX model.
#ifndef DOPPIO_TOOLS_ONNX_NET_RUN_H_
#define DOPPIO_TOOLS_ONNX_NET_RUN_H_

#include <vector>

#include "core/net/store/params.h"
#include "tools/onnx/onnx_graph.h"
#include "tools/export/param_names.h"

namespace doppio {

struct NetRun {
  std::vector<NamedArray> inputs, outputs;  // as the model names them, in its order
};

// Of the net that `content` was made of, perhaps with another batch than then. Values are between
// -1 and 1, indices within their range, the same in every run. `params` holds the net's, plain
// floats on the host. Throws Error where the net refuses the input.
NetRun RunOnRandomInput(const Graph& graph, ParamStore* params, const OnnxContent& content);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_NET_RUN_H_

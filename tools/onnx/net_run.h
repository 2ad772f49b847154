// Runs a net on random input, for comparison with its ONNX model.
#ifndef DOPPIO_TOOLS_ONNX_NET_RUN_H_
#define DOPPIO_TOOLS_ONNX_NET_RUN_H_

#include <vector>

#include "core/net/store/params.h"
#include "tools/export/param_names.h"
#include "tools/onnx/onnx_graph.h"

namespace doppio {

struct NetRun {
  std::vector<NamedArray> inputs, outputs;  // with the model's names, in its order
};

// Runs the net that `content` was made from; `graph` may have another batch size than it had then.
// Input values are pixels, prepared as the net's images are, where the input holds images, integers
// in range for inputs that are indices, and else uniform in [-1, 1). They are the same in every
// run. `params` holds the net's parameters as plain floats on the host. Throws Error if the net
// rejects the input.
NetRun RunOnRandomInput(const Graph& graph, ParamStore* params, const OnnxContent& content);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_NET_RUN_H_

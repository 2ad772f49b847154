// Runs a net on random input, for comparison with other forms of it.
#ifndef DOPPIO_TOOLS_ONNX_NET_RUN_H_
#define DOPPIO_TOOLS_ONNX_NET_RUN_H_

#include <string>
#include <vector>

#include "core/net/store/params.h"
#include "tools/export/param_names.h"
#include "tools/onnx/onnx_graph.h"

namespace doppio {

struct NetRun {
  std::vector<NamedArray> inputs, outputs;  // with the model's names, in its order
};

// The names of the blobs of RunnableNet that receive the input begin with this prefix.
constexpr char kGivenPrefix[] = "given/";

// Returns the layers of a net for inference: without losses, scores and layers that only silence a
// blob, and with Input layers in place of all data layers. A Split copies each input, because an
// in-place layer may overwrite its blob, and the original is still needed.
NetSpec RunnableNet(const Graph& graph);

// Returns values for an input blob of a net. `graph` is the net, and `runnable` that of
// RunnableNet. The values are pixels, prepared as the net's images are, where the input holds
// images, integers in range for inputs that are indices, and else uniform in [-1, 1). They depend
// only on the name of the blob, the seed and the number of the run.
std::vector<float> RandomInput(const Graph& graph, const Graph& runnable, const std::string& blob,
                               uint64_t seed, uint64_t run);

// Runs the net that `content` was made from; `graph` may have another batch size than it had then.
// Input values are those of RandomInput, the same in every run. `params` holds the net's parameters
// as plain floats on the host. Throws Error if the net rejects the input.
NetRun RunOnRandomInput(const Graph& graph, ParamStore* params, const OnnxContent& content);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_NET_RUN_H_

// Verifies an ONNX model: runs the net and the model on the same random input (RunOnRandomInput in
// net_run.h) and compares their outputs. ONNX Runtime or OpenCV runs the model, in a Python
// interpreter that has one of them.
#ifndef DOPPIO_TOOLS_ONNX_VERIFY_ONNX_H_
#define DOPPIO_TOOLS_ONNX_VERIFY_ONNX_H_

#include <string>
#include <vector>

#include "core/net/store/params.h"
#include "tools/onnx/onnx_graph.h"

namespace doppio {

struct VerifyOptions {
  std::string python;  // path or name of the interpreter
  double tolerance =
      // Largest accepted difference; for outputs with values over 1, relative to the largest value.
      1e-4;
  std::string folder;  // existing folder for the inputs, the outputs and the result
};

struct OnnxVerification {
  std::string not_done;            // why nothing was compared; "" = all outputs agree
  std::vector<std::string> lines;  // one message per output
};

// Verifies the file `model`, which holds `content`. `graph` is the net it was made from, possibly
// with another batch size; `params` holds its parameters as plain floats on the host. Throws Error
// with ExitCode::kDifference if an output differs by more than the tolerance, or if ONNX Runtime
// rejects the model.
OnnxVerification VerifyOnnx(const Graph& graph, ParamStore* params, const OnnxContent& content,
                            const std::string& model, const VerifyOptions& options);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_VERIFY_ONNX_H_

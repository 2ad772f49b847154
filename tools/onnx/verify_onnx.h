// Whether another program computes what the net computes: an ONNX model and the net get the same
// random input, and their outputs are compared. The other program is ONNX Runtime or OpenCV, run by
// a Python that has one of them.
#ifndef DOPPIO_TOOLS_ONNX_VERIFY_ONNX_H_
#define DOPPIO_TOOLS_ONNX_VERIFY_ONNX_H_

#include <string>
#include <vector>

#include "core/net/store/params.h"
#include "tools/onnx/onnx_graph.h"

namespace doppio {

struct VerifyOptions {
  std::string python;  // the program
  double tolerance =
      1e-4;  // of a difference, or of its part of the output's largest value where that is over 1
  std::string folder;  // an existing one, for inputs, outputs and the result
};

struct OnnxVerification {
  std::string not_done;            // why nothing was compared; "" = all outputs were
  std::vector<std::string> lines;  // for people: one for each output
};

// "" where `python` has a program that runs models; else what is missing.
std::string MissingRuntime(const std::string& python);

// Of the file `model`, which holds `content`. `graph` is the net it was made of, perhaps with
// another batch than then; its parameters are in `params`, plain floats on the host. Throws Error
// with ExitCode::kDifference where an output differs by more than the tolerance, or where ONNX
// Runtime does not take the model.
OnnxVerification VerifyOnnx(const Graph& graph, ParamStore* params, const OnnxContent& content,
                            const std::string& model, const VerifyOptions& options);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_VERIFY_ONNX_H_

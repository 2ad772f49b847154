// Runs models with ONNX Runtime, OpenCV or PyTorch, in a Python interpreter that has them.
#ifndef DOPPIO_TOOLS_ONNX_MODEL_RUN_H_
#define DOPPIO_TOOLS_ONNX_MODEL_RUN_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/export/param_names.h"

namespace doppio {

// Returns "" if the interpreter `python` has `program` ("onnxruntime", "opencv", "torch", or "any"
// of the first two); else a message that says what is missing.
std::string MissingProgram(const std::string& python, const std::string& program);

// The outcome of running a model.
struct ModelRuns {
  std::string runtime = "Python";  // "ONNX Runtime 1.17"
  bool judges = false;             // a refusal means that the model is invalid
  std::string refused;             // why the program does not run the model; "" if it does
  std::string failed;              // why the interpreter has no result; "" if it has one
};

// Runs a model on each of `inputs`. `job` has the members that tools/onnx/run_model.py describes,
// except `runs`. The files of the runs stay in `folder`, which exists. Blocks until the program has
// ended.
ModelRuns RunModel(const std::string& python, const std::string& folder, nlohmann::json job,
                   const std::vector<std::vector<NamedArray>>& inputs);

// Returns the first `count` values of a run of RunModel: its outputs, and then those inside the
// model. A value that the program has not returned has no elements. Throws FileError.
std::vector<PlainBlob> ValuesOfRun(const std::string& folder, size_t run, size_t count);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_MODEL_RUN_H_

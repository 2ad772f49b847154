#include "tools/onnx/verify_onnx.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "core/base/content/parsed_json.h"
#include "core/base/file.h"
#include "tools/cli/run_program.h"
#include "tools/cli/text_table.h"
#include "tools/export/array_files.h"
#include "tools/onnx/net_run.h"
#include "tools/onnx/runtime_program.h"

namespace doppio {
namespace {

// Writes the inputs and outputs of a run.
void WriteRun(const NetRun& run, const std::string& folder) {
  WriteNpz(folder + "/inputs.npz", run.inputs);
  WriteNpz(folder + "/outputs.npz", run.outputs);
}

[[noreturn]] void Refuse(const std::string& text) {
  throw Error(ExitCode::kDifference,
              text + "; nothing is written (--noverify writes it all the same)");
}

double NumberIn(const nlohmann::json& output, const char* name) {
  return std::stod(output.at(name).get<std::string>());
}

// Turns the program's result into messages, or throws if the model differs from the net.
OnnxVerification CompareResults(const nlohmann::json& result, const Graph& graph,
                                const OnnxContent& content, double tolerance) {
  const std::string runtime = result.value("runtime", "Python");
  if (result.contains("refused")) {
    const std::string text =
        runtime + " does not take the model: " + result["refused"].get<std::string>();
    if (result.value("judges", false)) Refuse(text);
    return {text, {}};
  }
  OnnxVerification done;
  const nlohmann::json& outputs = result.at("outputs");
  for (size_t i = 0; i < outputs.size(); ++i) {
    const nlohmann::json& output = outputs[i];
    const Shape& shape = graph.edges[content.outputs[i]].shape;
    const std::string name = output.at("name").get<std::string>();
    const double difference = NumberIn(output, "difference"), largest = NumberIn(output, "largest");
    if (!(difference <= tolerance * std::max(1.0, largest))) {
      Refuse("output '" + name + "' of the model differs from the net's: at " +
             output.at("at").dump() + " " + output.at("theirs").get<std::string>() + " by " +
             runtime + ", " + output.at("ours").get<std::string>() +
             " here, where the largest value is " + Significant(largest, 3) +
             "; the tolerance is " + Significant(tolerance, 3));
    }
    done.lines.push_back("verified by " + runtime + ": '" + name + "' (" + shape.ToString() +
                         ") differs by " + Significant(difference, 2) +
                         " at most, of values up to " + Significant(largest, 2));
  }
  return done;
}

}  // namespace

std::string MissingRuntime(const std::string& python) {
  const std::optional<int> code = RunProgram({python, "-c", kFindRuntime});
  if (!code) return "there is no program " + python + "; --python names another one";
  if (*code == 0) return "";
  return python +
         " has neither ONNX Runtime nor OpenCV (pip install onnxruntime, or python3-opencv of "
         "Debian); "
         "--python names another one";
}

OnnxVerification VerifyOnnx(const Graph& graph, ParamStore* params, const OnnxContent& content,
                            const std::string& model, const VerifyOptions& options) {
  const std::string missing = MissingRuntime(options.python);
  if (!missing.empty()) return {missing, {}};
  try {
    WriteRun(RunOnRandomInput(graph, params, content), options.folder);
  } catch (const Error& e) {
    return {std::string("the net does not run on random input: ") + e.what(), {}};
  } catch (const std::bad_alloc&) {
    return {"there is not enough memory to run the net", {}};
  }
  const std::optional<int> code = RunProgram(
      {options.python, "-c", kRunModel, options.folder, model, std::to_string(kRuntimeMinutes)});
  const std::string path = options.folder + "/result.json";
  if (code == -1) {
    return {StrCat(options.python, " has crashed while it ran the model, or needed more than ",
                   kRuntimeMinutes, " minutes"),
            {}};
  }
  const OnnxVerification failed = {options.python + " has failed to run the model", {}};
  if (code != 0 || !FileExists(path)) return failed;
  try {
    return CompareResults(ParseJson(ReadFile(path), path), graph, content, options.tolerance);
  } catch (const nlohmann::json::exception&) {
    return failed;  // the program has written something else
  }
}

}  // namespace doppio

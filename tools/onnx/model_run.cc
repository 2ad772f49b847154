#include "tools/onnx/model_run.h"

#include <map>

#include "core/base/content/parsed_json.h"
#include "core/base/file.h"
#include "tools/cli/embedded_files.h"
#include "tools/cli/json_text.h"
#include "tools/cli/run_program.h"
#include "tools/export/array_files.h"
#include "tools/export/read_arrays.h"

namespace doppio {
namespace {

constexpr int kMinutes = 10;  // after this time, SIGALRM ends the program

const std::string& Program() { return RuntimeFiles().at("run_model.py"); }

}  // namespace

std::string MissingProgram(const std::string& python, const std::string& program) {
  const std::optional<int> code = RunProgram({python, "-c", Program(), "find", program});
  const std::string other = "; --python names another one";
  if (!code) return "there is no program " + python + other;
  if (*code == 0) return "";
  const std::map<std::string, std::string> lacks = {
      {"any",
       " has neither ONNX Runtime nor OpenCV (pip install onnxruntime, or python3-opencv of "
       "Debian)"},
      {"onnxruntime", " has no ONNX Runtime (pip install onnxruntime)"},
      {"opencv", " has no OpenCV (apt-get install python3-opencv, or pip install opencv-python)"},
      {"torch", " has no PyTorch (apt-get install python3-torch, or pip install torch)"}};
  return python + lacks.at(program) + other;
}

ModelRuns RunModel(const std::string& python, const std::string& folder, nlohmann::json job,
                   const std::vector<std::vector<NamedArray>>& inputs) {
  const std::string result = folder + "/result.json";
  job["runs"] = inputs.size();
  WriteFileAtomically(folder + "/job.json", JsonText(job, -1));
  for (size_t run = 0; run < inputs.size(); ++run) {
    std::vector<NamedArray> arrays = inputs[run];
    for (size_t i = 0; i < arrays.size(); ++i) arrays[i].name = std::to_string(i);
    WriteNpz(folder + "/inputs_" + std::to_string(run) + ".npz", arrays);
  }
  ModelRuns runs;
  const std::optional<int> code =
      RunProgram({python, "-c", Program(), folder, std::to_string(kMinutes)});
  if (code == -1) {
    runs.failed = StrCat(python, " has crashed while it ran the model, or needed more than ",
                         kMinutes, " minutes");
    return runs;
  }
  runs.failed = python + " has failed to run the model";
  if (code != 0 || !FileExists(result)) return runs;
  try {
    const nlohmann::json answer = ParseJson(ReadFile(result), result);
    runs.runtime = answer.value("runtime", runs.runtime);
    runs.judges = answer.at("judges").get<bool>();
    runs.refused = answer.value("refused", "");
    runs.failed = "";
  } catch (const nlohmann::json::exception&) {
    return runs;  // the program has written something else
  }
  return runs;
}

std::vector<PlainBlob> ValuesOfRun(const std::string& folder, size_t run, size_t count) {
  NamedBlobs arrays = ReadNpzArrays(folder + "/values_" + std::to_string(run) + ".npz");
  std::vector<PlainBlob> values;
  for (size_t i = 0; i < count; ++i) {
    const auto found = arrays.find(std::to_string(i));
    values.push_back(found == arrays.end() ? PlainBlob{Shape{0}, {}} : std::move(found->second));
  }
  return values;
}

}  // namespace doppio

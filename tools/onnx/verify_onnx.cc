#include "tools/onnx/verify_onnx.h"

#include <algorithm>
#include <new>

#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/export/weight_stats.h"
#include "tools/onnx/model_run.h"
#include "tools/onnx/net_run.h"

namespace doppio {
namespace {

[[noreturn]] void Refuse(const std::string& text) {
  throw Error(ExitCode::kDifference,
              text + "; nothing is written (--noverify writes it all the same)");
}

// Returns the shape as Python writes it.
std::string Extents(const Shape& shape) {
  std::vector<std::string> extents;
  for (const int64_t dim : shape.dims()) extents.push_back(std::to_string(dim));
  return "(" + Join(extents, ", ") + ")";
}

// Turns the program's values into messages, or throws if the model differs from the net.
OnnxVerification CompareResults(const ModelRuns& runs, const NetRun& run,
                                const VerifyOptions& options) {
  const std::string does_not = runs.runtime + " does not take the model: ";
  OnnxVerification done;
  const std::vector<PlainBlob> all = ValuesOfRun(options.folder, 0, run.outputs.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const NamedArray& ours = run.outputs[i];
    const PlainBlob& theirs = all[i];
    if (ours.shape.count() != theirs.shape.count() || (runs.judges && ours.shape != theirs.shape)) {
      const std::string text = does_not + "output '" + ours.name + "' is " + Extents(theirs.shape) +
                               " there, " + Extents(ours.shape) + " here";
      if (runs.judges) Refuse(text);
      return {text, {}};
    }
    const ValueDifference difference =
        DifferenceOf(ours.data, theirs.data.data(), ours.shape.count());
    const int64_t at = difference.index;
    if (!(difference.absolute <= options.tolerance * std::max(1.0, difference.largest))) {
      Refuse("output '" + ours.name + "' of the model differs from the net's: at " +
             IndexText(ours.shape, at) + " " +
             Significant(static_cast<double>(theirs.data[at]), 7) + " by " + runs.runtime + ", " +
             Significant(static_cast<double>(ours.data[at]), 7) +
             " here, where the largest value is " + Significant(difference.largest, 3) +
             "; the tolerance is " + Significant(options.tolerance, 3));
    }
    done.lines.push_back("verified by " + runs.runtime + ": '" + ours.name + "' (" +
                         ours.shape.ToString() + ") differs by " +
                         Significant(difference.absolute, 2) + " at most, of values up to " +
                         Significant(difference.largest, 2));
  }
  return done;
}

}  // namespace

OnnxVerification VerifyOnnx(const Graph& graph, ParamStore* params, const OnnxContent& content,
                            const std::string& model, const VerifyOptions& options) {
  const std::string missing = MissingProgram(options.python, "any");
  if (!missing.empty()) return {missing, {}};
  NetRun run;
  try {
    run = RunOnRandomInput(graph, params, content);
  } catch (const Error& e) {
    return {std::string("the net does not run on random input: ") + e.what(), {}};
  } catch (const std::bad_alloc&) {
    return {"there is not enough memory to run the net", {}};
  }
  nlohmann::json job = {{"program", "any"},
                        {"model", model},
                        {"turned", nlohmann::json::array()},
                        {"inner", nlohmann::json::array()}};
  for (const NamedArray& input : run.inputs) job["inputs"].push_back(input.name);
  for (const NamedArray& output : run.outputs) job["outputs"].push_back(output.name);
  const ModelRuns runs = RunModel(options.python, options.folder, job, {run.inputs});
  if (!runs.failed.empty()) return {runs.failed, {}};
  if (runs.refused.empty()) return CompareResults(runs, run, options);
  const std::string text = runs.runtime + " does not take the model: " + runs.refused;
  if (runs.judges) Refuse(text);
  return {text, {}};
}

}  // namespace doppio

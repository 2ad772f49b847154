#include "tools/cli/training_folder.h"

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/store/snapshot.h"
#include "tools/cli/shell_quoted.h"

namespace doppio {
namespace {

std::string PathIn(const std::string& folder, const char* name) {
  return folder + (EndsWith(folder, "/") ? "" : "/") + name;
}

const char kSolverName[] = "solver.prototxt";

}  // namespace

bool IsTrainingFolder(const std::string& path) {
  return FileExists(path + "/.") && FileExists(PathIn(path, kSolverName));
}

std::string SolverIn(const std::string& folder) {
  if (IsTrainingFolder(folder)) return PathIn(folder, kSolverName);
  throw FileError("folder '" + folder + "' has no solver.prototxt; 'doppio init " +
                  ShellQuoted(folder) + "' creates one from a folder of images");
}

TrainedWeights TrainedWeightsIn(const std::string& folder) {
  const SolverSpec solver = LoadSolver(SolverIn(folder), Overrides(), 0, {});
  const std::string prefix = solver.param.snapshot_prefix();
  const std::optional<std::string> newest = NewestCompleteSnapshot(prefix);
  if (!newest) {
    throw FileError("'" + folder + "' has no trained weights yet (" + prefix +
                    "_iter_*); train first: doppio train " + ShellQuoted(folder));
  }
  const SolverSnapshot last = ReadSnapshot(*newest);
  const RunState& run = last.run_state;
  if (!run.has_best_iter()) return {last.learned_net, "the newest"};
  const std::string best = NamesOfSnapshot(prefix, run.best_iter(), EndsWith(*newest, ".h5")).state;
  const std::string which =
      StrCat("the best by ", run.monitored(), ", at iteration ", run.best_iter());
  if (best == *newest) return {last.learned_net, which};
  if (FileExists(best)) {
    const SolverSnapshot kept = ReadSnapshot(best);
    if (kept.run_state.run_id() == run.run_id()) return {kept.learned_net, which};
  }
  return {last.learned_net, "the newest; " + which + ", is not kept (--keep_best)"};
}

std::optional<NetAndImages> NetAndImagesOf(const CommandLine& line) {
  const Flags& flags = line.flags;
  const std::vector<std::string>& files = line.files;
  if (line.Given("model"))
    return line.Given("weights") ? std::optional(NetAndImages{flags.model, flags.weights, files})
                                 : std::nullopt;
  if (files.size() < 2 || !IsTrainingFolder(files[0])) return std::nullopt;
  NetAndImages found{
      PathIn(files[0], "deploy.prototxt"), flags.weights, {files.begin() + 1, files.end()}};
  CheckExists(found.model);
  if (line.Given("weights")) return found;
  const TrainedWeights trained = TrainedWeightsIn(files[0]);
  LOG(INFO) << "Weights: " << trained.path << " (" << trained.which << ")";
  found.weights = trained.path;
  return found;
}

}  // namespace doppio

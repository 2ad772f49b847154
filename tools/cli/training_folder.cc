#include "tools/cli/training_folder.h"

#include <optional>

#include "core/base/error.h"
#include "core/base/file.h"
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

TrainedNet TrainedNetIn(const std::string& folder) {
  TrainedNet trained;
  trained.model = PathIn(folder, "deploy.prototxt");
  CheckExists(trained.model);
  const SolverSpec solver = LoadSolver(SolverIn(folder), Overrides(), 0, {});
  const std::string prefix = solver.param.snapshot_prefix();
  const std::optional<std::string> newest = NewestCompleteSnapshot(prefix);
  if (!newest) {
    throw FileError("'" + folder + "' has no trained weights yet (" + prefix +
                    "_iter_*); train first: doppio train " + ShellQuoted(folder));
  }
  trained.weights = ReadSnapshot(*newest).learned_net;
  return trained;
}

}  // namespace doppio

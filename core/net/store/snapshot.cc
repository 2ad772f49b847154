#include "core/net/store/snapshot.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/text/whole_number.h"
#include "core/net/store/solver_state.h"
#include "core/net/store/weights.h"

namespace doppio {
namespace {

std::string FolderOf(const std::string& path) {
  const std::string folder = DirName(path);
  return folder.empty() ? "." : folder;
}

std::string BaseName(const std::string& path) { return path.substr(DirName(path).size()); }

// Returns the recorded path of the weights if the file exists, else the file of that name beside
// the state, because folders may be moved between machines.
std::string FindModel(const std::string& state, const std::string& learned_net) {
  if (learned_net.empty()) {
    throw FileError("'", state, "' does not name its weights file (learned_net)");
  }
  std::string beside = DirName(state) + BaseName(learned_net);
  for (const std::string& model : {learned_net, beside}) {
    RefusePipe(model, "the weights of a snapshot");
    if (FileExists(model)) return model;
  }
  throw FileError("the weights of '", state, "' are missing: there is no '", learned_net,
                  beside == learned_net ? "'" : "' and no '" + beside + "'");
}

bool Matches(const RunState& run, const std::string& model) {
  return (!run.has_model_bytes() || FileBytes(model) == run.model_bytes()) &&
         (!run.has_model_crc() || SumOf(model).crc == run.model_crc());
}

// Returns N of BASE_iter_N.solverstate[.h5], or -1 for other names.
int64_t IterOf(const std::string& name, const std::string& base) {
  const std::string head = base + "_iter_";
  size_t end = name.size();
  if (EndsWith(name, ".h5")) end -= 3;
  const std::string tail = ".solverstate";
  if (end < head.size() + tail.size() + 1 || name.compare(0, head.size(), head) != 0) return -1;
  if (name.compare(end - tail.size(), tail.size(), tail) != 0) return -1;
  return ParseWholeNumber(name.substr(head.size(), end - tail.size() - head.size())).value_or(-1);
}

// Returns the states with a prefix, newest first.
std::vector<std::string> StatesOf(const std::string& prefix) {
  std::vector<std::pair<int64_t, std::string>> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(FolderOf(prefix).c_str()), closedir);
  if (folder == nullptr) return {};
  while (const dirent* entry = readdir(folder.get())) {
    const int64_t iter = IterOf(entry->d_name, BaseName(prefix));
    if (iter >= 0) found.emplace_back(iter, DirName(prefix) + entry->d_name);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> states;
  for (auto& one : found) states.push_back(std::move(one.second));
  return states;
}

// Renames the state last, because weights without a state are not a snapshot.
void RenameBoth(const SnapshotNames& names, AtomicFile* model, AtomicFile* state) {
  model->Sync();
  state->Sync();
  model->Rename();
  try {
    state->Rename();
  } catch (...) {
    for (const std::string& path : {names.state, names.model}) unlink(path.c_str());
    throw;
  }
}

}  // namespace

SnapshotNames NamesOfSnapshot(const std::string& prefix, int64_t iter, bool hdf5) {
  const std::string stem = prefix + "_iter_" + std::to_string(iter);
  const std::string h5 = hdf5 ? ".h5" : "";
  return {stem + ".caffemodel" + h5, stem + ".solverstate" + h5};
}

void RemoveLeftovers(const std::string& prefix) { RemoveAbandoned(prefix + "_iter_"); }

void CheckWritable(const std::string& prefix) {
  const std::string folder = FolderOf(prefix);
  const std::string start = "cannot write snapshots '" + prefix + "_iter_*': ";
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw FileError(start, "there is no folder '", folder,
                    "'; create it (mkdir -p) or set another snapshot_prefix");
  }
  const std::string reason = WhyNotWritable(NamesOfSnapshot(prefix, 0, false).state);
  if (!reason.empty()) {
    throw FileError(start, "folder '", folder, "' is not writable (", reason,
                    "); change its permissions or set another snapshot_prefix");
  }
}

void WriteSnapshot(const SnapshotContents& c) {
  AtomicFile model(c.names.model), state(c.names.state);
  const ContentSum sum =
      WriteTemporaryWeights(model.temporary(), EndsWith(c.names.model, ".h5"), *c.graph, c.weights);
  SolverSnapshot solver = c.solver;
  solver.learned_net = c.names.model;
  solver.run_state.set_iter(solver.iter);
  solver.run_state.set_model_bytes(sum.bytes);
  solver.run_state.set_model_crc(sum.crc);
  WriteSolverState(state.temporary(), EndsWith(c.names.state, ".h5"), solver, c.history,
                   c.weights.device);
  RenameBoth(c.names, &model, &state);
}

SolverSnapshot ReadSnapshot(const std::string& path) {
  SolverSnapshot snapshot = ReadSolverState(path);
  const std::string model = FindModel(path, snapshot.learned_net);
  snapshot.learned_net = model;
  if (!Matches(snapshot.run_state, model)) {
    // The recorded path may be a file of another run if the snapshot has been moved with its
    // folder.
    const std::string beside = DirName(path) + BaseName(model);
    if (beside == model || !FileExists(beside) || !Matches(snapshot.run_state, beside)) {
      throw FileError("'", model, "' is not the weights file that '", path,
                      "' was written with; restore the original, or start a new training from this "
                      "one with --weights");
    }
    snapshot.learned_net = beside;
  }
  return snapshot;
}

std::optional<std::string> NewestCompleteSnapshot(const std::string& prefix,
                                                  std::optional<uint64_t> run_id) {
  for (const std::string& state : StatesOf(prefix)) {
    try {
      RefusePipe(state, "a snapshot that is found by its name");
      if (run_id && ReadSolverState(state).run_state.run_id() != *run_id) {
        LOG(INFO) << "Snapshot " << state << " is of an earlier run";
        continue;
      }
      const SolverSnapshot snapshot = ReadSnapshot(state);
      // Without our checksum, only reading the weights shows whether the file is complete.
      if (!snapshot.run_state.has_model_crc()) ReadWeights(snapshot.learned_net);
      return state;
    } catch (const FileError& e) {
      LOG(WARNING) << "Snapshot " << state << " is skipped: " << e.what();
    }
  }
  return std::nullopt;
}

}  // namespace doppio

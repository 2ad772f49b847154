#include "tools/train/old_files.h"

#include <cstdlib>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/net/store/snapshot.h"
#include "tools/timing/trace.h"

namespace doppio {
namespace {

// Returns the iterations N for which a file PREFIX_iter_N* exists.
std::set<int64_t> IterationsOf(const std::string& prefix) {
  std::set<int64_t> iterations;
  const std::string begin = prefix + "_iter_";
  for (const std::string& path : Glob(begin + "*"))
    iterations.insert(std::strtoll(path.c_str() + begin.size(), nullptr, 10));
  return iterations;
}

std::string Range(const std::vector<std::string>& files) {
  if (files.size() == 1) return files[0];
  return files.front() + (files.size() == 2 ? " and " : " to ") + files.back();
}

std::string Count(size_t files) {
  return std::to_string(files) + (files == 1 ? " file" : " files");
}

}  // namespace

std::vector<std::string> OldSnapshots(const SolverParameter& solver, const Schedule& schedule,
                                      int64_t from) {
  const bool hdf5 = solver.snapshot_format() == SolverParameter::HDF5;
  std::vector<std::string> files;
  for (const int64_t iteration : IterationsOf(solver.snapshot_prefix())) {
    const bool last = iteration == schedule.max_iter && solver.snapshot_after_train();
    if (iteration <= from || iteration > schedule.max_iter) continue;
    if (!last && !schedule.SnapshotAt(iteration)) continue;
    const SnapshotNames names = NamesOfSnapshot(solver.snapshot_prefix(), iteration, hdf5);
    for (const std::string& file : {names.model, names.state}) {
      if (FileExists(file)) files.push_back(file);
    }
  }
  return files;
}

std::string OldFilesText(const std::vector<std::string>& files) {
  if (files.empty()) return "";
  return Count(files.size()) + " of an earlier run will be overwritten: " + Range(files) +
         "; set another snapshot_prefix to keep them, or --no_overwrite to refuse";
}

std::vector<std::string> OldFiles(const Trainer& trainer, const std::string& timeline,
                                  bool no_overwrite) {
  std::vector<std::string> files = OldSnapshots(trainer.parts().run.spec.param,
                                                trainer.parts().run.schedule, trainer.iteration());
  if (!timeline.empty() && FileExists(timeline)) files.push_back(timeline);
  if (!no_overwrite || files.empty()) return files;
  throw FileError("--no_overwrite: " + Count(files.size()) +
                  " of an earlier run would be overwritten: " + Range(files) +
                  "; set another snapshot_prefix, or move them away");
}

}  // namespace doppio

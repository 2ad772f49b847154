// Files of an earlier run that a training is about to write over: told at its start, or refused.
#ifndef DOPPIO_TOOLS_TRAIN_OLD_FILES_H_
#define DOPPIO_TOOLS_TRAIN_OLD_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/solver.pb.h"
#include "solvers/trainer/schedule.h"

namespace doppio {

// Existing snapshot files, by iteration, that a training from iteration `from` on replaces, as far
// as its schedule says when it writes.
std::vector<std::string> OldSnapshots(const SolverParameter& solver, const Schedule& schedule,
                                      int64_t from);

// "4 files of an earlier run are written over: a_iter_5.caffemodel to a_iter_10.solverstate"; ""
// for no files.
std::string OldFilesText(const std::vector<std::string>& files);

// FileError with --no_overwrite if there are such files.
void CheckOldFiles(const std::vector<std::string>& files);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_OLD_FILES_H_

// Finds the files of an earlier run that a training will overwrite. The training lists them when it
// starts, or refuses to start.
#ifndef DOPPIO_TOOLS_TRAIN_OLD_FILES_H_
#define DOPPIO_TOOLS_TRAIN_OLD_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/solver.pb.h"
#include "solvers/trainer/schedule.h"
#include "solvers/trainer/trainer.h"

namespace doppio {

// Returns the existing snapshot files, ordered by iteration, that a training from iteration `from`
// will replace according to its snapshot schedule.
std::vector<std::string> OldSnapshots(const SolverParameter& solver, const Schedule& schedule,
                                      int64_t from);

// Returns a message such as "4 files of an earlier run will be overwritten: a_iter_5.caffemodel to
// a_iter_10.solverstate; ...", or "" if `files` is empty.
std::string OldFilesText(const std::vector<std::string>& files);

// Returns the existing files that the training will replace: OldSnapshots, and the file of the
// timeline unless `timeline` is "". Throws FileError if there are any and `no_overwrite` is true.
std::vector<std::string> OldFiles(const Trainer& trainer, const std::string& timeline,
                                  bool no_overwrite);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_OLD_FILES_H_

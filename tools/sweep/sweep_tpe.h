// Chooses the values of trials by the scores of earlier ones: TPE, the tree-structured Parzen
// estimator of Bergstra et al., "Algorithms for Hyper-Parameter Optimization", NeurIPS 2011. Optuna
// computes it, in an interpreter of Python.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_TPE_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_TPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/sweep/sweep_journal.h"

namespace doppio {

// Returns the values of trial `trial` in the form that --set takes. They depend only on the
// settings and the results of the trials before `trial` - settings.jobs + 1, so a resumed sweep
// gets them again. `folder` is the sweep's. Blocks for about a second. Throws UsageError if
// `python`, the name or path of an interpreter, does not exist, lacks Optuna or fails.
std::vector<std::string> TpeSets(const std::string& python, const SweepSettings& settings,
                                 const std::string& folder, int64_t trial);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_TPE_H_

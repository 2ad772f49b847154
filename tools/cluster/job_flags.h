// The flags that `submit` and `sweep --emit` share, with the site's defaults for them.
#ifndef DOPPIO_TOOLS_CLUSTER_JOB_FLAGS_H_
#define DOPPIO_TOOLS_CLUSTER_JOB_FLAGS_H_

#include "tools/cli/command_line.h"
#include "tools/cluster/job_script.h"

namespace doppio {

// Returns the options of a job for `system`. Those of its ranks and its command keep the defaults
// of JobOptions, except for the number of GPUs, which --gres may tell. Throws UsageError, and
// FileError or UserError for the site's file.
JobOptions MakeJobOptions(const CommandLine& line, BatchSystem system);

// Returns the path of doppio that the ranks run: --program, else that of this program or, in a
// container, the name.
std::string ProgramOfRanks(const CommandLine& line, const SiteLines& site);

// Returns the value of --ranks_per_node, or `otherwise` if the flag is not given. Throws UsageError
// if the value is not in [1, 100000].
int RanksPerNode(const CommandLine& line, int otherwise);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_JOB_FLAGS_H_

// The flags that `submit` and `sweep --emit` share: --time, --warn_seconds, --cpus_per_rank,
// --queue, --account and --job_name.
#ifndef DOPPIO_TOOLS_CLUSTER_JOB_FLAGS_H_
#define DOPPIO_TOOLS_CLUSTER_JOB_FLAGS_H_

#include "tools/cli/command_line.h"
#include "tools/cluster/job_script.h"

namespace doppio {

// Returns the options of a job for `system`. Those of its ranks and its command keep the defaults
// of JobOptions. Throws UsageError.
JobOptions MakeJobOptions(const BatchJobOptions& flags, BatchSystem system);

// Returns the value of --ranks_per_node, or `otherwise` if the flag is not given. Throws UsageError
// if the value is not in [1, 100000].
int RanksPerNode(const CommandLine& line, int otherwise);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_JOB_FLAGS_H_

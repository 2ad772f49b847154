// Records the failure of a training in several processes in its run folder.
#ifndef DOPPIO_TOOLS_RUNS_RECORD_FAILURES_H_
#define DOPPIO_TOOLS_RUNS_RECORD_FAILURES_H_

#include <memory>
#include <string>

#include "core/base/log.h"
#include "parallel/world/process_world.h"
#include "tools/cluster/common_end.h"
#include "tools/runs/run_records.h"

namespace doppio {

// Collective unless `world` is null. Returns the absolute path of the run folder, on all ranks; ""
// if there is none.
std::string AgreedFolder(ProcessWorld* world, const RunRecords& records);

// Makes rank 0 record a failure of the run in `folder`. If rank 0 itself is lost, the ranks that
// notice record it. Returns the log of this process in the run folder; null if the process has rank
// 0, which the folder itself logs, or if it cannot access the folder. `records` must outlive its
// use by `end`.
std::shared_ptr<LogFile> RecordFailures(ProcessWorld* world, const std::string& folder,
                                        RunRecords* records, CommonEnd* end);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_RECORD_FAILURES_H_

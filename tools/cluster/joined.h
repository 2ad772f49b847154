// Joins the processes of a launcher, runs the work of this one, and ends them together (CommonEnd).
#ifndef DOPPIO_TOOLS_CLUSTER_JOINED_H_
#define DOPPIO_TOOLS_CLUSTER_JOINED_H_

#include <functional>
#include <string>

#include "core/base/error.h"
#include "parallel/world/launcher.h"
#include "parallel/world/process_world.h"
#include "tools/cli/options.h"
#include "tools/cluster/common_end.h"

namespace doppio {

// Returns the name of the library that joins the processes, for the log: "Open MPI v4.1.4
// (/usr/lib/libmpi.so.40)". Throws UsageError if the launcher's processes cannot be joined.
std::string JoiningLibrary(const JoinOptions& options, const Launch& launch);

// Returns how the processes of `launch` join, without their watch (CommonEnd::MakeWatchOptions).
ProcessWorldOptions MakeWorldOptions(const JoinOptions& options, const Launch& launch);

// Runs `work` with the world of the launcher's processes, or with null if there is only one process
// or `join` is false. With several processes, this function does not return after a failure of
// `work`: CommonEnd::Fail ends all of them, with `*began`.
ExitCode RunJoined(const JoinOptions& options, bool join, const bool* began, CommonEnd* end,
                   const std::function<ExitCode(ProcessWorld* world)>& work);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_JOINED_H_

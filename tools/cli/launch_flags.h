// Finds the launcher that has started this process.
#ifndef DOPPIO_TOOLS_CLI_LAUNCH_FLAGS_H_
#define DOPPIO_TOOLS_CLI_LAUNCH_FLAGS_H_

#include "parallel/world/launcher.h"
#include "tools/cli/options.h"

namespace doppio {

// Returns how a launcher has started this process among others; an empty Launch if `comm` is
// "threads". Throws UsageError.
Launch LaunchOf(const JoinOptions& options);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_LAUNCH_FLAGS_H_

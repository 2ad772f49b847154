// Reads the flags that say which launcher has started this process.
#ifndef DOPPIO_TOOLS_CLI_LAUNCH_FLAGS_H_
#define DOPPIO_TOOLS_CLI_LAUNCH_FLAGS_H_

#include "parallel/world/launcher.h"
#include "tools/cli/flags.h"

namespace doppio {

// Returns how a launcher has started this process among others; an empty Launch with
// --comm=threads. Throws UsageError.
Launch LaunchFromFlags(const Flags& flags);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_LAUNCH_FLAGS_H_

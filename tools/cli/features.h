// The features of a training that the command line and the launcher ask for.
#ifndef DOPPIO_TOOLS_CLI_FEATURES_H_
#define DOPPIO_TOOLS_CLI_FEATURES_H_

#include "core/net/contract/combinations.h"
#include "tools/cli/command_line.h"

namespace doppio {

// Returns the features of the flags and of the launcher, except for those that depend on a net or
// solver: placement, micro-batches and --monitor. Throws UsageError for a wrong --launcher.
Features FeaturesOf(const CommandLine& line);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_FEATURES_H_

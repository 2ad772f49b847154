#include "tools/cli/launch_flags.h"

#include "tools/cli/flags.h"

namespace doppio {

Launch LaunchOf(const JoinOptions& options) {
  CheckValue("launcher", options.launcher, {"auto", "mpi", "slurm", "env"});
  return options.comm == "threads" ? Launch() : FindLaunch(options.launcher);
}

}  // namespace doppio

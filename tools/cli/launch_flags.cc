#include "tools/cli/launch_flags.h"

namespace doppio {

Launch LaunchFromFlags(const Flags& flags) {
  CheckValue("launcher", flags.launcher, {"auto", "mpi", "slurm", "env"});
  return flags.comm == "threads" ? Launch() : FindLaunch(flags.launcher);
}

}  // namespace doppio

// Ends an mpirun that would wait for ever.
#ifndef DOPPIO_TOOLS_CLUSTER_END_LAUNCHER_H_
#define DOPPIO_TOOLS_CLUSTER_END_LAUNCHER_H_

namespace doppio {

// If this process's parent is an mpirun that is still there some seconds after this process has
// ended, ends it: mpirun waits for its daemon on a machine that it cannot reach any more. Does
// nothing for other parents. For the end of a process, from any thread.
void EndLauncherSoon();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_END_LAUNCHER_H_

// Ends an mpirun that would never end by itself.
#ifndef DOPPIO_TOOLS_CLUSTER_END_LAUNCHER_H_
#define DOPPIO_TOOLS_CLUSTER_END_LAUNCHER_H_

namespace doppio {

// If this process's parent is mpirun and is still running 5 seconds later, ends it with signals,
// from a forked process that outlives this one. mpirun may otherwise wait forever for its daemon on
// a machine that it can no longer reach. Does nothing for other parents. Call it when this process
// is about to end; any thread may call it.
void EndLauncherSoon();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_END_LAUNCHER_H_

// Worlds whose ranks are processes, perhaps on several machines. What can carry them registers itself by name ("mpi"), where
// it is linked.
#ifndef DOPPIO_PARALLEL_PROCESS_WORLD_H_
#define DOPPIO_PARALLEL_PROCESS_WORLD_H_

#include <memory>
#include <string>

#include "core/base/registry.h"
#include "core/net/communicator.h"
#include "parallel/device_link.h"
#include "parallel/reducer.h"
#include "parallel/watch.h"

namespace doppio {

struct ProcessWorldOptions {
  ReducerOptions reducer;
  MakeBulk make_bulk;
  WatchOptions watch;
};

class ProcessWorld : public World {
 public:
  // This rank cannot go on, and says why: all others end. After that only the end of the process is left.
  virtual void Fail(ExitCode code, const std::string& why) = 0;
};

// Collective. Ends when the world is destroyed, also collective; once per process. Throws PeerError, UsageError.
using ProcessWorlds = Registry<std::unique_ptr<ProcessWorld> (*)(const ProcessWorldOptions& options)>;

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_PROCESS_WORLD_H_

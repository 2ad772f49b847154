// Worlds whose ranks are processes, perhaps on several machines. What can carry them registers
// itself by name ("mpi"), where it is linked.
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
  MakeBulk make_bulk;  // called once, or for each layer that a rank is in
  WatchOptions watch;
  bool hierarchical = false;  // bulk() sums inside each machine first, then between machines
  int ranks_per_machine =
      0;  // that count as one machine, in order of their ranks; 0: those that share memory
};

// Abort of its communicators ends the waiting of this process alone; the others hear of it by Fail.
class ProcessWorld : public World {
 public:
  // This rank cannot go on, and says why: all others end. After that only the end of the process is
  // left.
  virtual void Fail(ExitCode code, const std::string& why) = 0;
  // What has become of `hierarchical`, for the log: "gradients are summed inside 2 machines first,
  // ..."; "" where nobody asked.
  virtual std::string how_summed() const = 0;
};

// Collective. Ends when the world is destroyed, also collective; once per process. Throws
// PeerError, UsageError.
using ProcessWorlds =
    Registry<std::unique_ptr<ProcessWorld> (*)(const ProcessWorldOptions& options)>;

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_PROCESS_WORLD_H_

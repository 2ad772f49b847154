// Worlds whose ranks are processes, perhaps on several machines. What can carry them registers
// itself by name ("mpi"), where it is linked.
#ifndef DOPPIO_PARALLEL_PROCESS_WORLD_H_
#define DOPPIO_PARALLEL_PROCESS_WORLD_H_

#include <memory>
#include <string>

#include "core/base/error.h"
#include "core/base/registry.h"
#include "core/net/communicator.h"
#include "parallel/device_link.h"
#include "parallel/reducer.h"
#include "parallel/watch.h"

namespace doppio {

struct ProcessWorldOptions {
  // Which build of Doppio this process runs ("doppio 0.1.0, sources 1f3a..."). Ranks that give
  // different ones are refused.
  std::string program;
  std::string library;  // the file of the library that joins the processes; "": looked for
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

// The ranks run different programs or libraries. Every rank finds and throws the same, so one of
// them is to tell it.
class MixedRanks : public UsageError {
 public:
  using UsageError::UsageError;
};

struct ProcessWorldKind {
  // What joins the processes, for the log: "Open MPI v4.1.4 (/usr/lib/libmpi.so.40)". Throws
  // UsageError where it cannot be had.
  std::string (*describe)(const ProcessWorldOptions& options);
  // Collective. The world ends when it is destroyed, also collective; once per process. Throws
  // PeerError, UsageError, MixedRanks.
  std::unique_ptr<ProcessWorld> (*make)(const ProcessWorldOptions& options);
};
using ProcessWorlds = Registry<ProcessWorldKind>;

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_PROCESS_WORLD_H_

// Worlds whose ranks are processes, possibly on several machines. Each transport registers itself
// by name ("mpi", "tcp") if it is linked in.
#ifndef DOPPIO_PARALLEL_WORLD_PROCESS_WORLD_H_
#define DOPPIO_PARALLEL_WORLD_PROCESS_WORLD_H_

#include <memory>
#include <string>

#include "core/base/error.h"
#include "core/base/registry.h"
#include "core/net/contract/communicator.h"
#include "parallel/gpu/device_link.h"
#include "parallel/meeting/rendezvous_options.h"
#include "parallel/reduce/reducer.h"
#include "parallel/watch/watch.h"

namespace doppio {

struct ProcessWorldOptions {
  // The build of Doppio that this process runs ("doppio 0.1.0, sources 1f3a..."). Ranks with
  // different builds are rejected.
  std::string program;
  std::string library;           // file of the library that joins the processes; "": search for one
  RendezvousOptions rendezvous;  // of processes that no such library joins
  WatchOptions watch;
};

// The options for the exchange of gradients between the ranks of a world.
struct ProcessExchange {
  ReducerOptions reducer;
  MakeBulk make_bulk;         // called once, or once for each layer that the rank belongs to
  bool hierarchical = false;  // bulk() sums inside each machine first, then between machines
  // Consecutive ranks that count as one machine; 0: the ranks that share memory.
  int ranks_per_machine = 0;
};

// A world of connected and watched ranks. bulk() works on host memory until Connect(). Abort() on
// its communicators only ends waits in this process; Fail() ends the other processes.
//
// Destroy a world only when all ranks have finished. A rank that has failed must call Fail(), leak
// the world, and exit.
class ProcessWorld : public World {
 public:
  // Collective. Call it at most once, before bulk() is used. Throws DeviceError, PeerError.
  virtual void Connect(const ProcessExchange& exchange) = 0;
  // Collective. Destroys the communicators that make_bulk has made, while the devices still exist.
  virtual void Disconnect() = 0;
  // Reports why this rank cannot continue, and ends all other ranks. Afterwards this process must
  // exit.
  virtual void Fail(ExitCode code, const std::string& why) = 0;
  // Ends the world in this process only: all current and future calls of its communicators throw
  // PeerError with `why`, and destroying the world waits for no other rank. Thread-safe. The
  // transport must be able to leave: TCP is, MPI is not.
  virtual void Break(const std::string& why) = 0;
  // Describes for the log how the world applies `hierarchical`: "gradients are summed inside 2
  // machines first, ..."; "" if it was not requested.
  virtual std::string how_summed() const = 0;
};

// Thrown if the ranks run different programs or libraries, or would not train alike. Every rank
// throws the same message, so only one of them should print it.
class MixedRanks : public UsageError {
 public:
  using UsageError::UsageError;
};

struct ProcessWorldKind {
  // Names the library that joins the processes, for the log: "Open MPI v4.1.4
  // (/usr/lib/libmpi.so.40)". Throws UsageError if none can be opened.
  std::string (*describe)(const ProcessWorldOptions& options);
  // Collective; call it once per process. Destroying the world is collective as well, and is
  // watched until it is complete. If a library then does not let go of the process, the watch calls
  // WatchOptions::on_endless. Throws PeerError, UsageError, MixedRanks, UnreachableRank.
  std::unique_ptr<ProcessWorld> (*make)(const ProcessWorldOptions& options);
};
using ProcessWorlds = Registry<ProcessWorldKind>;

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WORLD_PROCESS_WORLD_H_

// Manages the processes of a launcher that train together, from joining to their common end. If one
// of them fails at any time, all of them end, with one message and one record of the failure. They
// end without unwinding, because threads may be blocked in the library that carries the exchanges.
// Files are written under temporary names and renamed, so no file is left half-written.
#ifndef DOPPIO_TOOLS_CLUSTER_JOINED_H_
#define DOPPIO_TOOLS_CLUSTER_JOINED_H_

#include <functional>
#include <string>

#include "core/base/error.h"
#include "parallel/world/launcher.h"
#include "parallel/world/process_world.h"
#include "tools/cli/flags.h"

namespace doppio {

// Returns the name of the library that joins the processes, for the log: "Open MPI v4.1.4
// (/usr/lib/libmpi.so.40)". Throws UsageError if the launcher's processes cannot be joined.
std::string JoiningLibrary(const Flags& flags, const Launch& launch);

// Reads --stall_timeout and --silence_timeout. If a rank is lost, the watch ends this process with
// a message and a record. Throws UsageError.
WatchOptions WatchFromFlags(const Flags& flags);

// Returns how the processes of `launch` join. Throws UsageError.
ProcessWorldOptions WorldOptions(const Flags& flags, const Launch& launch);

// Ends this process soon. Another one prints the failure that both have.
[[noreturn]] void LeaveToAnother(const Error& failure);

// Runs `work` with the world of the launcher's processes, or with null if there is only one process
// or `join` is false. With several processes, this function does not return after a failure of
// `work`: rank 0 prints the failure, with `*began` as in PrintFailure, and all processes end.
ExitCode RunJoined(const Flags& flags, bool join, const bool* began,
                   const std::function<ExitCode(ProcessWorld* world)>& work);

// Sets how a failure or a lost rank is recorded. At most one object exists at a time.
class FailureRecord {
 public:
  FailureRecord() = default;
  ~FailureRecord();
  FailureRecord(const FailureRecord&) = delete;
  FailureRecord& operator=(const FailureRecord&) = delete;

  // Sets the function that records a failure. It is called at most once, possibly on another
  // thread.
  void Use(std::function<void(const Error&)> record);
};

// Calls the function of the current FailureRecord, if it has one, and waits at most 2 seconds for
// it.
void RecordFailure(const Error& failure);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_JOINED_H_

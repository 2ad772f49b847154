// The processes of a launcher that train together, from the moment they are joined to their common
// end. Whatever fails in one of them at any moment ends all of them, with one message and a record
// of it: nothing is unwound then, because threads wait in the library that carries the exchanges.
// Files are written aside and renamed, so none is left half-written.
#ifndef DOPPIO_TOOLS_CLUSTER_JOINED_H_
#define DOPPIO_TOOLS_CLUSTER_JOINED_H_

#include <functional>
#include <string>

#include "core/base/error.h"
#include "parallel/world/launcher.h"
#include "parallel/world/process_world.h"

namespace doppio {

// The launcher that has started this process and others; none with --comm=threads. Throws
// UsageError.
Launch LaunchFromFlags();

// The library that joins the processes, for the log: "Open MPI v4.1.4 (/usr/lib/libmpi.so.40)".
// Throws UsageError if the launcher's processes cannot be joined.
std::string JoiningLibrary(const Launch& launch);

// --stall_timeout and --silence_timeout. A loss ends the process with a message and a record.
// Throws UsageError.
WatchOptions WatchFromFlags();

// Runs `work` with the world of the processes that the launcher has started, or with null if there
// is only this one or `join` is false. If there are several, a failure of `work` does not return:
// rank 0 prints it, `*began` as in PrintFailure, and all processes end.
ExitCode RunJoined(bool join, const bool* began,
                   const std::function<ExitCode(ProcessWorld* world)>& work);

// How a failure or a loss of ranks is recorded. One lives at a time.
class FailureRecord {
 public:
  FailureRecord() = default;
  ~FailureRecord();
  FailureRecord(const FailureRecord&) = delete;
  FailureRecord& operator=(const FailureRecord&) = delete;

  // `record` is called at most once, possibly by another thread.
  void Use(std::function<void(const Error&)> record);
};

// Calls the function of the living FailureRecord, if it has one, and waits for it for a while.
void RecordFailure(const Error& failure);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_JOINED_H_

// Ends the process where no exit code or exception can travel to main().
#ifndef DOPPIO_TOOLS_CLI_END_PROCESS_H_
#define DOPPIO_TOOLS_CLI_END_PROCESS_H_

#include <unistd.h>

namespace doppio {

// Ends the process at once, without destructors, exit handlers or flushing. Async-signal-safe.
//
// This is the only such end in the program. Otherwise the process ends with an exit code or an
// exception, which DoppioMain (tools/commands/doppio_main.h) turns into main's result. The callers
// cannot do so:
// - After the loss or failure of a joined rank, other threads may be blocked for ever in MPI or
//   another library, and exit handlers would run while those threads use their objects.
// - SignalHandler handles the second Ctrl-C in a signal handler.
// - Workers and EndLauncherSoon end a forked child, in which only the forking thread exists.
[[noreturn]] inline void EndProcessNow(int code) { _exit(code); }

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_END_PROCESS_H_

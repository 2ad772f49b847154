// Turns signals into requests to the running training. The signal handlers only set flags, which
// the trainer polls once per iteration.
#ifndef DOPPIO_TOOLS_CLI_SIGNALS_H_
#define DOPPIO_TOOLS_CLI_SIGNALS_H_

#include <sys/types.h>

#include <map>
#include <string>

#include "solvers/trainer/trainer.h"
#include "tools/cli/options.h"

namespace doppio {

// Parses a value of --sigint_effect, --sigterm_effect and the like: stop, snapshot, snapshot_stop
// or none. Throws UsageError for any other value.
Request ParseEffect(const std::string& flag, const std::string& value);

// Returns the requests of the signals. Throws UsageError, also for a wrong stop_exit_code.
std::map<int, Request> SignalEffects(const SignalOptions& options);

// Returns the parent process if it announces SIGTERM with SIGCONT; otherwise 0. Open MPI's mpirun
// and its daemons announce the end of a job in this way: SIGTERM follows one second after SIGCONT,
// and SIGKILL one second after SIGTERM (odls_base_sigkill_timeout sets each interval).
pid_t AnnouncingLauncher();

// Catches signals during its lifetime. At most one object may exist at a time. If a SIGINT or
// SIGTERM requests a stop, a second one ends the process at once with exit code 130 or 143. Writing
// to a pipe that nobody reads fails and does not end the process, also after the object's lifetime.
class SignalHandler {
 public:
  // Maps signals to the requests they make. If `launcher` is not 0, a SIGCONT from that process has
  // the same effect as SIGTERM.
  explicit SignalHandler(const std::map<int, Request>& effects, pid_t launcher = 0);
  ~SignalHandler();
  SignalHandler(const SignalHandler&) = delete;
  SignalHandler& operator=(const SignalHandler&) = delete;

  // Returns the requests since the last call. A stop that was requested by SIGINT or SIGTERM is
  // returned by all later calls, too.
  Request Poll();

 private:
  std::map<int, Request> effects_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_SIGNALS_H_

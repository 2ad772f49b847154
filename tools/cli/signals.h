// Signals as wishes to the running training. Handlers only set a flag; the trainer asks once per
// iteration.
#ifndef DOPPIO_TOOLS_CLI_SIGNALS_H_
#define DOPPIO_TOOLS_CLI_SIGNALS_H_

#include <sys/types.h>

#include <map>
#include <string>

#include "solvers/trainer/trainer.h"

namespace doppio {

// Of one value of --sigint_effect and its kin: stop, snapshot, snapshot_stop, none. UsageError for
// another.
Request ParseEffect(const std::string& flag, const std::string& value);

// The parent process if it is one that announces SIGTERM by SIGCONT, else 0. Open MPI's mpirun and
// its daemons do when they are told to end: SIGTERM follows after a second, SIGKILL after another
// one (odls_base_sigkill_timeout is the time of each).
pid_t AnnouncingLauncher();

// Catches these signals while it lives; one at a time. A second SIGINT or SIGTERM after one that
// stops ends the process at once with 130 or 143.
class SignalHandler {
 public:
  // SIGCONT from `launcher`, unless that is 0, has the effect of SIGTERM.
  explicit SignalHandler(const std::map<int, Request>& effects, pid_t launcher = 0);
  ~SignalHandler();
  SignalHandler(const SignalHandler&) = delete;
  SignalHandler& operator=(const SignalHandler&) = delete;

  // What was asked for since the last call; a stop stays asked for.
  Request Poll();

 private:
  std::map<int, Request> effects_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_SIGNALS_H_

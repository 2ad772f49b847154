#include "tools/cli/signals.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "core/base/error.h"
#include "tools/cli/end_process.h"
#include "tools/cli/flags.h"
#include "tools/cli/signal_state.h"

namespace doppio {
namespace {

void HandleContinue(int signal, siginfo_t* info, void*) {
  SignalState& state = SignalState::Get();
  if (info->si_code == SI_USER && info->si_pid == state.launcher) state.pending[signal] = 1;
}

// The same Ctrl-C that asks this process to stop ends `tee` at the other end of its pipe. Then
// writing fails without ending the process. It is a handler and not SIG_IGN, because programs that
// this process starts would inherit SIG_IGN.
void HandleClosedPipe(int) {}

void Handle(int signal) {
  SignalState& state = SignalState::Get();
  const bool again = state.pending[signal].exchange(1) != 0;
  if (again && state.stops[signal]) EndProcessNow(128 + signal);
}

}  // namespace

Request ParseEffect(const std::string& flag, const std::string& value) {
  CheckValue(flag.c_str(), value, {"stop", "snapshot", "snapshot_stop", "none"});
  if (value == "none") return Request::kNone;
  if (value == "snapshot") return Request::kSnapshot;
  return value == "stop" ? Request::kStop : Request::kSnapshotStop;
}

std::map<int, Request> SignalEffects(const SignalOptions& options) {
  InRange("stop_exit_code", options.stop_exit_code, 0, 255);  // the range of an exit status
  return {{SIGINT, ParseEffect("sigint_effect", options.sigint_effect)},
          {SIGHUP, ParseEffect("sighup_effect", options.sighup_effect)},
          {SIGTERM, ParseEffect("sigterm_effect", options.sigterm_effect)},
          {SIGUSR1, ParseEffect("sigusr1_effect", options.sigusr1_effect)},
          {SIGUSR2, ParseEffect("sigusr2_effect", options.sigusr2_effect)}};
}

pid_t AnnouncingLauncher() {
  // If this setting is on, mpirun forwards job control, and SIGCONT only ends a pause.
  const char* const forwards = std::getenv("OMPI_MCA_orte_forward_job_control");
  const bool pauses = forwards != nullptr && std::string(forwards) != "0";
  return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr && !pauses ? getppid() : 0;
}

SignalHandler::SignalHandler(const std::map<int, Request>& effects, pid_t launcher)
    : effects_(effects) {
  SignalState& state = SignalState::Get();
  state.launcher = launcher;
  const auto termination = effects.find(SIGTERM);
  if (launcher != 0 && termination != effects.end()) effects_[SIGCONT] = termination->second;
  for (const auto& [signal, effect] : effects_) {
    state.pending[signal] = 0;
    // A second signal ends the process only for the signals that users and schedulers send to end a
    // process.
    state.stops[signal] = (signal == SIGINT || signal == SIGTERM) &&
                          (effect == Request::kStop || effect == Request::kSnapshotStop);
    struct sigaction action = {};
    sigfillset(&action.sa_mask);
    action.sa_flags = SA_RESTART;  // system calls of data threads are restarted
    if (signal == SIGCONT) {
      action.sa_sigaction = &HandleContinue;
      action.sa_flags |= SA_SIGINFO;
    } else {
      action.sa_handler = &Handle;
    }
    DOPPIO_CHECK(sigaction(signal, &action, nullptr) == 0, "sigaction failed");
  }
  struct sigaction closed_pipe = {};
  closed_pipe.sa_handler = &HandleClosedPipe;
  closed_pipe.sa_flags = SA_RESTART;
  DOPPIO_CHECK(sigaction(SIGPIPE, &closed_pipe, nullptr) == 0, "sigaction failed");
}

SignalHandler::~SignalHandler() {
  for (const auto& [signal, effect] : effects_) ::signal(signal, SIG_DFL);
  // Closed pipes remain harmless, because the command still logs how it has ended.
}

Request SignalHandler::Poll() {
  SignalState& state = SignalState::Get();
  bool stop = false, snapshot = false;
  for (const auto& [signal, effect] : effects_) {
    if (state.pending[signal] == 0) continue;
    stop = stop || effect == Request::kStop || effect == Request::kSnapshotStop;
    snapshot = snapshot || effect == Request::kSnapshot || effect == Request::kSnapshotStop;
    // A stop remains pending, so that Handle() recognises the second signal.
    if (!state.stops[signal]) state.pending[signal] = 0;
  }
  if (stop) return snapshot ? Request::kSnapshotStop : Request::kStop;
  return snapshot ? Request::kSnapshot : Request::kNone;
}

}  // namespace doppio

// The variables that the program's signal handlers read and write.
#ifndef DOPPIO_TOOLS_CLI_SIGNAL_STATE_H_
#define DOPPIO_TOOLS_CLI_SIGNAL_STATE_H_

#include <sys/types.h>

#include <array>
#include <atomic>

namespace doppio {

class RemovedOnSignals;

// The state that signal handlers share with the rest of the program. A handler gets only the number
// of its signal, so there must be one object for the whole process, SignalState::Get(). Its members
// are lock-free atomics, which are async-signal-safe. Each of them belongs to the class or function
// that is named there and that resets it.
struct SignalState {
  static constexpr int kSignals = 65;

  // SignalHandler: signals that have arrived since the last poll, by number.
  std::array<std::atomic<int>, kSignals> pending = {};
  // SignalHandler: signals whose second arrival ends the process.
  std::array<std::atomic<bool>, kSignals> stops = {};
  // SignalHandler: the process whose SIGCONT counts as SIGTERM; 0: none.
  std::atomic<pid_t> launcher{0};
  // RunProgram: the child that it waits for; 0: none.
  std::atomic<pid_t> running{0};
  // The RemovedOnSignals that exists; null: none.
  std::atomic<const RemovedOnSignals*> removed{nullptr};
  // RunRanks: the end of its pipe to which the numbers of signals are written; -1: none.
  std::atomic<int> caught{-1};

  static SignalState& Get() {
    static SignalState state;
    return state;
  }
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_SIGNAL_STATE_H_

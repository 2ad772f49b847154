#include "tools/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "core/base/error.h"

namespace doppio {
namespace {

// A handler can reach nothing but globals. Lock-free atomics are safe in it.
constexpr int kSignalCount = 65;
std::atomic<int> g_pending[kSignalCount];
std::atomic<bool> g_stops[kSignalCount];

void Handle(int signal) {
  const bool again = g_pending[signal].exchange(1) != 0;
  if (again && g_stops[signal]) _exit(128 + signal);
}

}  // namespace

Request ParseEffect(const std::string& flag, const std::string& value) {
  if (value == "none") return Request::kNone;
  if (value == "snapshot") return Request::kSnapshot;
  if (value == "stop") return Request::kStop;
  if (value == "snapshot_stop") return Request::kSnapshotStop;
  throw UsageError("--" + flag + " wants stop, snapshot, snapshot_stop or none, got '" + value +
                   "'");
}

SignalHandler::SignalHandler(const std::map<int, Request>& effects) : effects_(effects) {
  for (const auto& [signal, effect] : effects_) {
    g_pending[signal] = 0;
    // Twice quits only for those that people and schedulers send to end a process.
    g_stops[signal] = (signal == SIGINT || signal == SIGTERM) &&
                      (effect == Request::kStop || effect == Request::kSnapshotStop);
    struct sigaction action = {};
    action.sa_handler = &Handle;
    sigfillset(&action.sa_mask);
    action.sa_flags = SA_RESTART;  // reads and writes of the data threads go on
    DOPPIO_CHECK(sigaction(signal, &action, nullptr) == 0, "sigaction failed");
  }
}

SignalHandler::~SignalHandler() {
  for (const auto& [signal, effect] : effects_) ::signal(signal, SIG_DFL);
}

Request SignalHandler::Poll() {
  bool stop = false, snapshot = false;
  for (const auto& [signal, effect] : effects_) {
    if (g_pending[signal] == 0) continue;
    stop = stop || effect == Request::kStop || effect == Request::kSnapshotStop;
    snapshot = snapshot || effect == Request::kSnapshot || effect == Request::kSnapshotStop;
    // A stop stays pending, so that the second signal is known as such.
    if (!g_stops[signal]) g_pending[signal] = 0;
  }
  if (stop) return snapshot ? Request::kSnapshotStop : Request::kStop;
  return snapshot ? Request::kSnapshot : Request::kNone;
}

}  // namespace doppio

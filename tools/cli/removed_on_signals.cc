#include "tools/cli/removed_on_signals.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "tools/cli/run_program.h"
#include "tools/cli/signal_state.h"

namespace doppio {
namespace {

constexpr int kRemovingSignals[] = {SIGINT, SIGTERM, SIGHUP};

// Uses only system calls, because it runs in a signal handler.
void RemoveFiles(int folder) {
  alignas(dirent64) static char entries[1 << 14];
  for (;;) {
    const long bytes = syscall(SYS_getdents64, folder, entries, sizeof(entries));
    if (bytes <= 0) return;
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      unlinkat(folder, entry->d_name, 0);
      at += entry->d_reclen;
    }
  }
}

// Cleans up, then ends the process with the signal's default action.
void CleanUp(int ended_by) {
  SignalRunningProgram(ended_by);
  if (const RemovedOnSignals* removed = SignalState::Get().removed) {
    for (const std::string& folder : removed->folders()) RemoveFolder(folder.c_str());
  }
  signal(ended_by, SIG_DFL);
  raise(ended_by);
}

void Catch(int one) {
  struct sigaction before = {};
  sigaction(one, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;  // nohup ignores the signal; keep it ignored
  struct sigaction action = {};
  action.sa_handler = &CleanUp;
  sigfillset(&action.sa_mask);
  sigaction(one, &action, nullptr);
}

void Release(int one) {
  struct sigaction now = {};
  sigaction(one, nullptr, &now);
  if (now.sa_handler == &CleanUp) signal(one, SIG_DFL);
}

}  // namespace

void RemoveFolder(const char* path) {
  constexpr int kTries = 3;  // a program or thread that is about to end may still create a file
  for (int i = 0; i < kTries; ++i) {
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    RemoveFiles(folder);
    close(folder);
    if (rmdir(path) == 0) return;
  }
}

RemovedOnSignals::RemovedOnSignals(std::vector<std::string> folders)
    : folders_(std::move(folders)) {
  SignalState::Get().removed = this;
  for (const int one : kRemovingSignals) Catch(one);
}

RemovedOnSignals::~RemovedOnSignals() {
  for (const int one : kRemovingSignals) Release(one);
  SignalState::Get().removed = nullptr;
}

}  // namespace doppio

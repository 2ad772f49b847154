#include "tools/cluster/end_launcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <set>
#include <string>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tools/cli/end_process.h"

namespace doppio {
namespace {

bool IsMpirun(pid_t process) {
  static const std::set<std::string> names = {"mpirun\n", "mpiexec\n", "orterun\n", "prterun\n"};
  try {
    return names.count(ReadFile("/proc/" + std::to_string(process) + "/comm")) > 0;
  } catch (const FileError&) {
    return false;
  }
}

// A signal and the time to wait before it, in milliseconds. The second SIGTERM makes
// mpirun stop waiting.
struct Step {
  int ms;
  int signal;
};
constexpr Step kSteps[] = {{5000, SIGTERM}, {2000, SIGTERM}, {3000, SIGKILL}};

// Runs in the forked child of a process with several threads, so it calls only async-signal-safe
// functions.
[[noreturn]] void EndByAndBy(int launcher) {
  prctl(PR_SET_NAME, "end_launcher");  // so that the child does not look like a rank
  setsid();
  // Closes all other file descriptors, because mpirun also waits for the end of its processes'
  // output.
  syscall(SYS_close_range, 0u, static_cast<unsigned>(launcher) - 1, 0u);
  syscall(SYS_close_range, static_cast<unsigned>(launcher) + 1, ~0u, 0u);
  for (const Step& step : kSteps) {
    pollfd ended = {launcher, POLLIN, 0};
    if (poll(&ended, 1, step.ms) != 0) break;
    syscall(SYS_pidfd_send_signal, launcher, step.signal, nullptr, 0u);
  }
  EndProcessNow(0);
}

}  // namespace

void EndLauncherSoon() {
  const pid_t parent = getppid();
  if (!IsMpirun(parent)) return;
  // A pidfd, unlike a process id, is never reused for another process.
  const int launcher = static_cast<int>(syscall(SYS_pidfd_open, parent, 0u));
  if (launcher <= 0) return;
  if (fork() == 0) EndByAndBy(launcher);
}

}  // namespace doppio

#include "tools/cli/run_program.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/error.h"
#include "tools/cli/signal_state.h"

extern char** environ;

namespace doppio {

std::optional<int> RunProgram(std::vector<std::string> words, int input) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (input != STDIN_FILENO) posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int result =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (result == ENOENT) return std::nullopt;
  if (result != 0) throw CannotStart(words[0], result);
  SignalState::Get().running = child;
  // Waits without reaping the child: once it is reaped, its process ID may be reused, and the
  // signal handler would signal another process.
  siginfo_t ended;
  while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  SignalState::Get().running = 0;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void SignalRunningProgram(int signal) {
  const pid_t running = SignalState::Get().running;
  if (running > 0) kill(running, signal);
}

}  // namespace doppio

#include "tools/sweep/program_answer.h"

#include <stdio.h>
#include <sys/wait.h>

#include "tools/sweep/sweep_trial.h"

namespace doppio {

ProgramAnswer AskProgram(const std::vector<std::string>& words) {
  ProgramAnswer answer;
  FILE* const pipe = popen((ShellCommand(words) + " 2>&1 </dev/null").c_str(), "re");
  if (pipe == nullptr) return {127, "no process can be started"};
  char buffer[4096];
  for (size_t bytes; (bytes = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    answer.text.append(buffer, bytes);
  const int status = pclose(pipe);
  answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return answer;
}

}  // namespace doppio

#include "tools/graphviz.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"

extern char** environ;

namespace doppio {
namespace {

// Text as a file that a child process reads from its start.
class TextInput {
 public:
  explicit TextInput(const std::string& text) : file_(memfd_create("doppio", MFD_CLOEXEC)) {
    size_t done = 0;
    while (file_ >= 0 && done < text.size()) {
      const ssize_t written = write(file_, text.data() + done, text.size() - done);
      if (written <= 0) break;
      done += static_cast<size_t>(written);
    }
    if (file_ < 0 || done < text.size() || lseek(file_, 0, SEEK_SET) != 0) {
      throw MemoryError("no memory to hand a graph to dot");
    }
  }
  ~TextInput() { close(file_); }
  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;
  int file() const { return file_; }

 private:
  int file_;
};

}  // namespace

void RunDot(const std::string& graph, const std::string& format, const std::string& path) {
  const TextInput input(graph);
  std::string program = "dot", as = "-T" + format, to = "-o" + path;
  char* arguments[] = {&program[0], &as[0], &to[0], nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.file(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int result = posix_spawnp(&child, "dot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (result == ENOENT) {
    throw FileError(
        "graphviz's program dot, which makes " + format +
        " files, is not installed (apt-get install graphviz); a file NAME.dot needs none");
  }
  if (result != 0) throw FileError(std::string("cannot start dot: ") + std::strerror(result));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw FileError("dot has failed to make a " + format + " file");
  }
}

}  // namespace doppio

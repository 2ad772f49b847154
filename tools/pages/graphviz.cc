#include "tools/pages/graphviz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "core/base/error.h"
#include "tools/cli/run_program.h"

namespace doppio {
namespace {

// An anonymous file that holds a text, positioned at its start, for a child process's input.
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
  const std::optional<int> code = RunProgram({"dot", "-T" + format, "-o" + path}, input.file());
  if (!code) {
    throw FileError(
        "graphviz's program dot, which makes ", format,
        " files, is not installed (apt-get install graphviz); a file NAME.dot needs none");
  }
  if (code != 0) throw FileError("dot has failed to make a ", format, " file");
}

}  // namespace doppio

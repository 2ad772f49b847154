#include "tools/pages/graphviz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "core/base/unique_fd.h"
#include "core/base/error.h"
#include "tools/cli/run_program.h"

namespace doppio {
namespace {

// Returns an anonymous file that holds a text, positioned at its start, for a child process's
// input.
UniqueFd TextInput(const std::string& text) {
  UniqueFd file(memfd_create("doppio", MFD_CLOEXEC));
  if (!file.open() || !WriteAll(file.get(), text) || lseek(file.get(), 0, SEEK_SET) != 0)
    throw MemoryError("no memory to pass a graph to dot");
  return file;
}

}  // namespace

void RunDot(const std::string& graph, const std::string& format, const std::string& path) {
  const UniqueFd input = TextInput(graph);
  const std::optional<int> code = RunProgram({"dot", "-T" + format, "-o" + path}, input.get());
  if (!code) {
    throw FileError(
        "graphviz's program dot, which makes ", format,
        " files, is not installed (apt-get install graphviz); a file NAME.dot needs none");
  }
  if (code != 0) throw FileError("dot has failed to make a ", format, " file");
}

}  // namespace doppio

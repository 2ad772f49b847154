#include "tools/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace doppio {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool Utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = Variable(name);
    if (!value.empty()) {
      return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos;
    }
  }
  return false;
}

}  // namespace

std::optional<Terminal> FindTerminal() {
  if (isatty(STDERR_FILENO) == 0 || Variable("TERM") == "dumb") return std::nullopt;
  Terminal terminal;
  terminal.utf8 = Utf8();
  winsize size{};
  if (std::atoi(Variable("COLUMNS").c_str()) > 0) {
    terminal.columns = std::atoi(Variable("COLUMNS").c_str());
  } else if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.columns = size.ws_col;
  }
  return terminal;
}

}  // namespace doppio

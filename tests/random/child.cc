#include "tests/random/child.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sstream>

#include "core/base/error.h"

namespace doppio {
namespace {

constexpr char kThrown = '!';  // begins the last line of a process whose work has thrown
constexpr char kLine = ' ';    // begins all other lines

void WriteAll(int pipe, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(pipe, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) _exit(1);  // the parent has ended
    done += static_cast<size_t>(written);
  }
}

// Returns the text with line feeds that the parent does not take for the ends of lines.
std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', '\r');
  return text;
}

std::string Lines(std::string text) {
  std::replace(text.begin(), text.end(), '\r', '\n');
  return text;
}

// Runs the work and ends the process without the destructors of the parent's objects.
[[noreturn]] void RunAndExit(const std::function<void(const SendLine&)>& work, int pipe) {
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const auto send = [pipe](char kind, const std::string& text) {
    WriteAll(pipe, kind + OneLine(text) + "\n");
  };
  int code = 0;
  try {
    work([&](const std::string& line) { send(kLine, line); });
  } catch (const std::exception& e) {
    send(kThrown, e.what());
    code = 1;
  }
  _exit(code);
}

std::string EndText(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  const int code = WEXITSTATUS(status);
  return code == 0 ? "" : "exit code " + std::to_string(code);
}

}  // namespace

Child::Child(const std::function<void(const SendLine&)>& work) {
  int ends[2];
  DOPPIO_CHECK(pipe(ends) == 0, std::strerror(errno));
  process_ = fork();
  DOPPIO_CHECK(process_ >= 0, std::strerror(errno));
  if (process_ == 0) {
    close(ends[0]);
    RunAndExit(work, ends[1]);
  }
  close(ends[1]);
  pipe_ = ends[0];
}

Child::~Child() {
  if (process_ > 0) kill(process_, SIGKILL);
  End();
  close(pipe_);
}

std::optional<std::string> Child::Next(double seconds) {
  size_t end = 0;
  while ((end = received_.find('\n')) == std::string::npos) {
    if (process_ < 0) return std::nullopt;
    if (Read(seconds)) continue;
    End();
    return std::nullopt;
  }
  const std::string line = Lines(received_.substr(1, end - 1));
  const char kind = received_[0];
  received_.erase(0, end + 1);
  if (kind == kLine) return line;
  End();
  failure_ = line;
  return std::nullopt;
}

// Appends to received_. Returns false if the process has closed its end, or is killed because
// nothing came in time.
bool Child::Read(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const double left = std::chrono::duration<double>(deadline - Clock::now()).count();
    pollfd wait = {pipe_, POLLIN, 0};
    const int ready = left <= 0 ? 0 : poll(&wait, 1, static_cast<int>(std::ceil(left * 1000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      kill(process_, SIGKILL);
      std::ostringstream text;
      text << "no answer in " << seconds << " s";
      failure_ = text.str();
      return false;
    }
    char bytes[4096];
    const ssize_t count = read(pipe_, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    received_.append(bytes, static_cast<size_t>(count));
    return true;
  }
}

void Child::End() {
  if (process_ < 0) return;
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (failure_.empty()) failure_ = EndText(status);
}

}  // namespace doppio

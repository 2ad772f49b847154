#include "tests/double/machine/fault.h"

#include <unistd.h>

#include <atomic>

namespace doppio::gpu_double {

void Fault(const std::string& check, const std::string& text) {
  // Only the first fault is reported. Threads that find another one wait for the end of the
  // process.
  static std::atomic_flag told = ATOMIC_FLAG_INIT;
  if (told.test_and_set()) {
    ::sleep(60);
    ::_exit(kFaultStatus);
  }
  const std::string line = "double: " + check + ": " + text + "\n";
  // Uses write(2) instead of stdio, because a signal may have interrupted the thread inside stdio.
  for (size_t written = 0; written < line.size();) {
    const ssize_t more = ::write(STDERR_FILENO, line.data() + written, line.size() - written);
    if (more <= 0) break;
    written += more;
  }
  ::_exit(kFaultStatus);
}

}  // namespace doppio::gpu_double

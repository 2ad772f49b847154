#include "tests/fuzz/fuzz_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "core/base/error.h"

namespace doppio {
namespace {

void AbortOnBug(const Error& error) {
  if (error.code() != ExitCode::kBug) return;
  std::fprintf(stderr, "%s\n", error.what());
  std::abort();
}

}  // namespace

void AllowErrors(const std::function<void()>& read) {
  try {
    read();
  } catch (const ErrorList& list) {
    for (const Error& error : list.errors()) AbortOnBug(error);
  } catch (const Error& error) {
    AbortOnBug(error);
  }
}

std::string FuzzPath(const std::string& name) {
  const char* folder = std::getenv("TEST_TMPDIR");
  if (folder == nullptr) folder = std::getenv("TMPDIR");
  if (folder == nullptr) folder = "/tmp";
  return std::string(folder) + "/fuzz_" + std::to_string(getpid()) + "_" + name;
}

void WriteInput(const std::string& path, const std::string& bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  if (!written) {
    std::perror(path.c_str());
    std::abort();
  }
  close(file);
}

}  // namespace doppio

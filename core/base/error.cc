#include "core/base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include "core/base/text/printable.h"

namespace doppio {
namespace {

std::string WithPlace(const SourceLoc& at, const std::string& message) {
  return at.known() ? at.ToString() + ": " + message : message;
}

std::string JoinLines(const std::vector<Error>& errors) {
  std::string text;
  for (const Error& e : errors) {
    if (!text.empty()) text += '\n';
    text += e.what();
  }
  return text;
}

// Leaves out the middle of a long message: names and values in files may have megabytes.
std::string Shortened(const std::string& message) {
  constexpr size_t kEnd = 10'000;
  if (message.size() <= 2 * kEnd) return message;
  return message.substr(0, kEnd) + " ... " + message.substr(message.size() - kEnd);
}

// Returns "context: message". If the message begins with "cannot read 'PATH': " and the context
// names 'PATH', the message says "it" instead.
std::string InContext(const std::string& context, const std::string& message) {
  const std::string reads = "cannot read ";
  const size_t end = message.find("': ");
  if (message.compare(0, reads.size(), reads) == 0 && end != std::string::npos) {
    const std::string quoted = message.substr(reads.size(), end + 1 - reads.size());
    if (Printable(context).find(quoted) != std::string::npos)
      return context + ": " + reads + "it" + message.substr(end + 1);
  }
  return context + ": " + message;
}

}  // namespace

std::string SourceLoc::ToString() const {
  std::string text = file;
  if (line > 0) text += ":" + std::to_string(line);
  if (line > 0 && column > 0) text += ":" + std::to_string(column);
  return text;
}

Error::Error(ExitCode code, const SourceLoc& at, const std::string& message)
    : std::runtime_error(Printable(WithPlace(at, Shortened(message)))),
      code_(code),
      at_(at),
      message_(Printable(Shortened(message))) {}

ErrorList::ErrorList(std::vector<Error> errors)
    : Error(errors.empty() ? ExitCode::kBug : errors.front().code(), JoinLines(errors)),
      errors_(std::move(errors)) {}

void ErrorCollector::Add(const Error& error) {
  if (full()) return;
  errors_.push_back(error);
  if (errors_.size() < kMaxMistakes) return;
  errors_.emplace_back(error.code(), error.at(),
                       "the rest of the file is not checked: there are " +
                           std::to_string(kMaxMistakes) + " mistakes");
}

void ErrorCollector::ThrowIfAny() const {
  if (errors_.empty()) return;
  if (errors_.size() == 1) throw errors_.front();
  // Sorted by place, so that the user can fix the file from the top.
  std::vector<Error> sorted = errors_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Error& a, const Error& b) {
    if (a.at().file != b.at().file || !a.at().known()) return false;
    return std::make_pair(a.at().line, a.at().column) < std::make_pair(b.at().line, b.at().column);
  });
  throw ErrorList(std::move(sorted));
}

void RethrowWithContext(const Error& error, const SourceLoc& at, const std::string& context) {
  throw Error(error.code(), error.at().known() ? error.at() : at,
              InContext(context, error.message()));
}

Error CannotStart(const std::string& what, int reason) {
  const std::string failure = "cannot start " + what + ": ";
  if (reason != EAGAIN) return FileError(failure + std::strerror(reason));
  return MemoryError(failure +
                     "a limit on processes and threads is reached (ulimit -u or -v, the pids limit "
                     "of a container); raise it, or lower --threads and --data_threads");
}

Error AsError(const std::exception& failure) {
  if (const auto* error = dynamic_cast<const Error*>(&failure)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr)
    return MemoryError("the host is out of memory; use a smaller --batch");
  const auto* const system = dynamic_cast<const std::system_error*>(&failure);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again)
    return CannotStart("a thread", EAGAIN);
  if (const auto* e = dynamic_cast<const std::filesystem::filesystem_error*>(&failure)) {
    const std::string path = e->path1().string();
    return FileError(path.empty() ? e->what()
                                  : "cannot use '" + path + "': " + e->code().message());
  }
  return Error(ExitCode::kBug, std::string("internal error: ") + failure.what());
}

namespace internal {

void CheckFailed(const char* file, int line, const char* condition, const std::string& message) {
  const char* name = std::strrchr(file, '/');
  throw Error(ExitCode::kBug, "internal error: " + std::string(name ? name + 1 : file) + ":" +
                                  std::to_string(line) + ": " + message + " (" + condition + ")");
}

}  // namespace internal
}  // namespace doppio

// The exceptions that Doppio throws. They carry a place in the user's file and the exit code of the
// process. Code that knows the context adds it on the way (RethrowWithContext), and
// tools/commands/doppio_main.cc catches every exception once. A worker thread passes its exception
// to the thread that waits for its result.
#ifndef DOPPIO_CORE_BASE_ERROR_H_
#define DOPPIO_CORE_BASE_ERROR_H_

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/text/str_cat.h"

namespace doppio {

// Exit codes of the process. docs/errors.md documents them for users.
enum class ExitCode {
  kDone = 0,
  kBug = 1,
  kUsage = 2,       // unknown flag or command, missing flag
  kConfig = 3,      // prototxt: parse, validation, shapes, overrides
  kFile = 4,        // input missing, unreadable or corrupt; output not writable
  kDevice = 5,      // no GPU, driver too old
  kMemory = 6,      // the host or a device is out of memory
  kNonFinite = 7,   // the loss or a weight is not finite
  kPeer = 8,        // another rank is lost
  kDifference = 9,  // a comparison exceeds its tolerance
  kStopped = 75,    // stopped by a signal after a complete snapshot; the run can be resumed
};

// A place in a user's text file. Lines and columns count from 1; 0 means unknown.
struct SourceLoc {
  std::string file;
  int line = 0;
  int column = 0;

  bool known() const { return !file.empty(); }
  // Returns "net.prototxt:31:11", "net.prototxt" without a line, or "" if the file is unknown.
  std::string ToString() const;
};

// Base class of all exceptions that Doppio throws. what() returns the place and the message,
// without the word "error". Messages may quote bytes of files and file names, so the constructor
// escapes unprintable characters (core/base/text/printable.h).
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const SourceLoc& at, const std::string& message);
  Error(ExitCode code, const std::string& message) : Error(code, SourceLoc(), message) {}

  ExitCode code() const { return code_; }
  const SourceLoc& at() const { return at_; }
  const std::string& message() const { return message_; }  // what(), without the place

 private:
  ExitCode code_;
  SourceLoc at_;
  std::string message_;
};

// The constructors of the errors below take the message in parts, as StrCat does:
//   throw FileError("cannot read '", path, "': ", bytes, " bytes are missing");

// A mistake in a net or solver file, with its place if known. Exit code 3.
class UserError : public Error {
 public:
  template <class... Parts>
  explicit UserError(const SourceLoc& at, const Parts&... parts)
      : Error(ExitCode::kConfig, at, StrCat(parts...)) {}
};

// Throws UserError({}, parts...) if `wrong` is true: for fields whose place the caller adds
// (RethrowWithContext). The parts are evaluated in either case, so this is not for work that
// repeats.
template <class... Parts>
void RefuseIf(bool wrong, const Parts&... parts) {
  if (wrong) throw UserError({}, parts...);
}

// A file is missing, unreadable, corrupt or cannot be written. Exit code 4.
class FileError : public Error {
 public:
  template <class... Parts>
  explicit FileError(const SourceLoc& at, const Parts&... parts)
      : Error(ExitCode::kFile, at, StrCat(parts...)) {}
  template <class... Parts>
  explicit FileError(const Parts&... parts) : Error(ExitCode::kFile, StrCat(parts...)) {}
};

// An error without a place in a file, which has the exit code `kCode`.
template <ExitCode kCode>
class PlainError : public Error {
 public:
  template <class... Parts>
  explicit PlainError(const Parts&... parts) : Error(kCode, StrCat(parts...)) {}
};

// A command line or call is wrong.
using UsageError = PlainError<ExitCode::kUsage>;
// A device or a library for it is missing or fails.
using DeviceError = PlainError<ExitCode::kDevice>;
// The host or a device is out of memory.
using MemoryError = PlainError<ExitCode::kMemory>;
// Another rank was lost or failed. The message contains its number, its host and its own error.
using PeerError = PlainError<ExitCode::kPeer>;

// Several mistakes found in one pass over a file. what() has one line per mistake.
class ErrorList : public Error {
 public:
  explicit ErrorList(std::vector<Error> errors);
  const std::vector<Error>& errors() const { return errors_; }

 private:
  std::vector<Error> errors_;
};

// Mistakes that are searched for in a file.
constexpr size_t kMaxMistakes = 1000;

// Collects the mistakes of a file so that all of them are reported together. After kMaxMistakes,
// adds one that says so, and is full: further mistakes are left out.
class ErrorCollector {
 public:
  void Add(const Error& error);
  void Add(const SourceLoc& at, const std::string& message) { Add(UserError(at, message)); }
  // Calls `f` and collects the Error or ErrorList that it throws; other exceptions propagate.
  // Returns true if `f` did not throw.
  template <class F>
  bool Try(F&& f) {
    try {
      f();
      return true;
    } catch (const ErrorList& e) {
      for (const Error& one : e.errors()) Add(one);
    } catch (const Error& e) {
      Add(e);
    }
    return false;
  }
  bool empty() const { return errors_.empty(); }
  bool full() const { return errors_.size() > kMaxMistakes; }
  const std::vector<Error>& errors() const { return errors_; }
  // Throws the only mistake, or an ErrorList sorted by place if there are several. Does nothing if
  // there are none.
  void ThrowIfAny() const;

 private:
  std::vector<Error> errors_;
};

// Throws `error` again with `context`, e.g. "layer 'conv1' (net.prototxt:12:3), forward", in front
// of its message. Keeps the exit code and the place; uses `at` if the error has no place. Never
// returns.
[[noreturn]] void RethrowWithContext(const Error& error, const SourceLoc& at,
                                     const std::string& context);

// Returns the error that `what`, a thread or a program, cannot start. `reason` is an errno: for
// EAGAIN a MemoryError that names the limits, otherwise a FileError.
Error CannotStart(const std::string& what, int reason);

// Converts a caught exception into an Error: an Error is returned as it is (an ErrorList as one
// Error with its complete text), std::bad_alloc becomes a MemoryError about host memory, a
// std::system_error of a thread that cannot start becomes CannotStart, an error of std::filesystem
// becomes a FileError, and any other exception becomes an internal error with exit code 1.
Error AsError(const std::exception& failure);

namespace internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const std::string& message);
}  // namespace internal

// Throws an internal error (exit code 1) unless `condition` is true. For conditions that only a bug
// in Doppio can violate, never for user input.
#define DOPPIO_CHECK(condition, message)                                                        \
  do {                                                                                          \
    if (!(condition)) ::doppio::internal::CheckFailed(__FILE__, __LINE__, #condition, message); \
  } while (false)

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_ERROR_H_

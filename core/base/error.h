// How Doppio fails: exceptions that carry the user's place in a file and the exit code of the
// process. They are thrown anywhere, given context where it is known, and caught once, in
// tools/main.cc. Worker threads hand theirs over through their queue (core/base/queue.h).
#ifndef DOPPIO_CORE_BASE_ERROR_H_
#define DOPPIO_CORE_BASE_ERROR_H_

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace doppio {

// What a shell script learns from a run. docs/errors.md has the table for users.
enum class ExitCode {
  kDone = 0,
  kBug = 1,
  kUsage = 2,       // unknown flag or command, missing flag
  kConfig = 3,      // prototxt: parse, validation, shapes, overrides
  kFile = 4,        // input missing, unreadable or corrupt; output not writable
  kDevice = 5,      // no GPU, driver too old
  kMemory = 6,      // out of memory
  kNonFinite = 7,   // the loss is not a number
  kPeer = 8,        // another rank is lost
  kDifference = 9,  // a comparison is over its tolerance
  kStopped = 75,    // stopped by a signal after a good snapshot: run again to go on
};

// A place in a user's text file. Line and column count from 1; 0 means "not known".
struct SourceLoc {
  std::string file;
  int line = 0;
  int column = 0;

  bool known() const { return !file.empty(); }
  // "net.prototxt:31:11", "net.prototxt", or "" when nothing is known.
  std::string ToString() const;
};

// Base of everything Doppio throws. what() is the complete text without the word "error". Messages
// quote files and their names, so the constructor makes them printable (core/base/printable.h).
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const SourceLoc& at, const std::string& message);
  Error(ExitCode code, const std::string& message) : Error(code, SourceLoc(), message) {}

  ExitCode code() const { return code_; }
  const SourceLoc& at() const { return at_; }
  const std::string& message() const { return message_; }  // without the place

 private:
  ExitCode code_;
  SourceLoc at_;
  std::string message_;
};

// A mistake in a net or solver file, at a place if one is known. Exit code 3.
class UserError : public Error {
 public:
  UserError(const SourceLoc& at, const std::string& message)
      : Error(ExitCode::kConfig, at, message) {}
};

// A file that is missing, unreadable, corrupt or cannot be written. Exit code 4.
class FileError : public Error {
 public:
  FileError(const SourceLoc& at, const std::string& message)
      : Error(ExitCode::kFile, at, message) {}
  explicit FileError(const std::string& message) : Error(ExitCode::kFile, message) {}
};

class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

class DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& message) : Error(ExitCode::kDevice, message) {}
};

class MemoryError : public Error {
 public:
  explicit MemoryError(const std::string& message) : Error(ExitCode::kMemory, message) {}
};

// Another rank is lost, or has failed: what it said, with its number and host. Exit code 8.
class PeerError : public Error {
 public:
  explicit PeerError(const std::string& message) : Error(ExitCode::kPeer, message) {}
};

// Several mistakes found in one pass over a file. what() has one line for each.
class ErrorList : public Error {
 public:
  explicit ErrorList(std::vector<Error> errors);
  const std::vector<Error>& errors() const { return errors_; }

 private:
  std::vector<Error> errors_;
};

// Collects mistakes so that all of a file are reported at once.
class ErrorCollector {
 public:
  void Add(const Error& error) { errors_.push_back(error); }
  void Add(const SourceLoc& at, const std::string& message) { Add(UserError(at, message)); }
  // Runs `f` and keeps what it throws, if that is an Error; says whether it threw nothing.
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
  const std::vector<Error>& errors() const { return errors_; }
  // Throws the one mistake, or an ErrorList of all; does nothing when there is none.
  void ThrowIfAny() const;

 private:
  std::vector<Error> errors_;
};

// The same failure with `context` ("layer 'conv1' (net.prototxt:12:3), forward") before its text.
// Keeps the exit code; takes `at` as the place if the failure has none. Does not return.
[[noreturn]] void RethrowWithContext(const Error& error, const SourceLoc& at,
                                     const std::string& context);

// What a caught exception means to the user: an Error means itself (a list its complete text),
// std::bad_alloc that the host is out of memory, and any other exception a defect of Doppio.
Error AsError(const std::exception& failure);

namespace internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const std::string& message);
}  // namespace internal

// For what cannot happen whatever the user does: our bug, exit code 1.
#define DOPPIO_CHECK(condition, message)                                                        \
  do {                                                                                          \
    if (!(condition)) ::doppio::internal::CheckFailed(__FILE__, __LINE__, #condition, message); \
  } while (false)

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_ERROR_H_

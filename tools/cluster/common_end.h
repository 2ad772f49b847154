// The common end of processes that train together: if one of them fails at any time, all of them
// end, with one message and one record of the failure. They end without unwinding (EndProcessNow),
// because threads may be blocked in the library that carries the exchanges. Files are written under
// temporary names and renamed, so no file is left half-written.
#ifndef DOPPIO_TOOLS_CLUSTER_COMMON_END_H_
#define DOPPIO_TOOLS_CLUSTER_COMMON_END_H_

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>

#include "core/base/error.h"
#include "parallel/world/process_world.h"
#include "tools/cli/options.h"

namespace doppio {

// How this process ends together with others. A command owns one object, which must outlive all
// worlds and watches of the process. Thread-safe.
class CommonEnd {
 public:
  CommonEnd() = default;
  CommonEnd(const CommonEnd&) = delete;
  CommonEnd& operator=(const CommonEnd&) = delete;

  // Sets the function that records a failure; empty: nothing is recorded. It is called at most
  // once, possibly on another thread.
  void SetRecord(std::function<void(const Error&)> record);

  // Returns the options of a watch that ends this process with a message and a record if a rank is
  // lost. `first` is true in the process of rank 0. Throws UsageError.
  WatchOptions MakeWatchOptions(const JoinOptions& options, bool first);

  // Declares that this process has finished its work with `code`, and that its results and records
  // are complete. If another rank is lost afterwards, this process ends with `code`.
  void Finish(ExitCode code) { finished_ = static_cast<int>(code); }

  // Ends all processes because this one has failed. Rank 0 prints the failure, with `began` as in
  // PrintFailure.
  [[noreturn]] void Fail(ProcessWorld* world, const std::exception& failure, bool began);

 private:
  static constexpr int kWorks = -1;

  void Record(const Error& failure);
  [[noreturn]] void EndFinished() const;
  [[noreturn]] void EndLost(const WatchOptions::Loss& loss);
  [[noreturn]] void EndWithoutLibrary(bool reports) const;

  std::mutex mutex_;
  std::function<void(const Error&)> record_;  // guarded by mutex_
  std::atomic<int> failed_{0};                // the exit code of this process's own failure
  std::atomic<int> finished_{kWorks};         // the exit code of this process's finished work
};

// Thrown in a process whose failure another process prints. DoppioMain returns the code and prints
// nothing.
class ReportedElsewhere : public std::exception {
 public:
  explicit ReportedElsewhere(ExitCode code) : code_(code) {}
  ExitCode code() const { return code_; }
  const char* what() const noexcept override { return "another process reports the failure"; }

 private:
  const ExitCode code_;
};

// Throws ReportedElsewhere, after a delay in which the other process can print the failure.
[[noreturn]] void LeaveToAnother(const Error& failure);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_COMMON_END_H_

// Runs work in a child process, so that a crash or a hang of the work is a result and not the end
// of the program. The calling process must not have started compute threads: OpenMP's do not
// survive a fork.
#ifndef DOPPIO_TESTS_RANDOM_CHILD_H_
#define DOPPIO_TESTS_RANDOM_CHILD_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace doppio {

// Sends one line, without a line feed, to the parent. Blocks until it is written.
using SendLine = std::function<void(const std::string&)>;

class Child {
 public:
  // Starts a process that calls `work` and ends.
  explicit Child(const std::function<void(const SendLine& send)>& work);
  // Kills the process if it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns the next line. Returns nothing if the process has ended, or if it sends no line within
  // `seconds`; it is then killed.
  std::optional<std::string> Next(double seconds);
  // After Next has returned nothing: returns how the process ended, "signal 11 (Segmentation
  // fault)", "no answer in 60 s" or "std::bad_alloc", or "" if `work` returned.
  const std::string& failure() const { return failure_; }

 private:
  bool Read(double seconds);
  void End();

  pid_t process_ = -1;
  int pipe_ = -1;
  std::string received_;  // complete lines and the beginning of one
  std::string failure_;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_CHILD_H_

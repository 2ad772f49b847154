// Gives an environment variable a value in a scope. The environment belongs to the process, so a
// case that changes it without this object changes it for the cases after it, too.
#ifndef DOPPIO_TESTS_TESTING_SCOPED_VARIABLE_H_
#define DOPPIO_TESTS_TESTING_SCOPED_VARIABLE_H_

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace doppio {

// While it lives, no other thread may read or change the environment.
class ScopedVariable {
 public:
  // Sets the variable, or removes it if `value` is null. The destructor restores what was there.
  ScopedVariable(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* const before = std::getenv(name_.c_str())) before_ = before;
    Set(value);
  }
  ~ScopedVariable() { Set(before_ ? before_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

  void Set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_.c_str());
    } else {
      setenv(name_.c_str(), value, 1);
    }
  }

 private:
  const std::string name_;
  std::optional<std::string> before_;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_SCOPED_VARIABLE_H_

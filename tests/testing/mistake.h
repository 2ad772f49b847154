// Calls code that is expected to fail, and returns its error. Every test under tests/ may include
// this header; doppio_test() adds the library.
#ifndef DOPPIO_TESTS_TESTING_MISTAKE_H_
#define DOPPIO_TESTS_TESTING_MISTAKE_H_

#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"

namespace doppio {

// Calls `f` and returns the error of type E that it throws. If `f` throws nothing, records a
// failure of the current test and returns an error without a message. Exceptions of other types
// propagate. May be called in any thread.
template <class E = Error, class F>
Error Thrown(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ExitCode::kDone, "");
}

// Returns the what() of Thrown<E>(f): the place, if it is known, and the message.
template <class E = Error, class F>
std::string Mistake(F&& f) {
  return Thrown<E>(f).what();
}

// The same for code that may succeed: returns "" if `f` throws nothing. E is any std::exception.
template <class E = Error, class F>
std::string MistakeIfAny(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_MISTAKE_H_

// Compiled before every file of a test program (doppio_test in tools/bazel/doppio.bzl). Counts the
// assertions that run, so that a case fails that passes without checking anything: it would also
// pass if the code that it is about were gone.
#ifndef DOPPIO_TESTS_TESTING_COUNT_CHECKS_H_
#define DOPPIO_TESTS_TESTING_COUNT_CHECKS_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

namespace doppio {

// The number of assertions that this process has evaluated. Thread-safe.
inline std::atomic<int64_t> g_checks{0};

inline int CountCheck() {
  g_checks.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

// Makes this program's cases fail that pass without an assertion. Skipped cases are left alone.
void FailCasesThatCheckNothing();

}  // namespace doppio

// Each EXPECT_ and ASSERT_ begins with this macro of GoogleTest, `switch (0) case 0: default:`.
#undef GTEST_AMBIGUOUS_ELSE_BLOCKER_
#define GTEST_AMBIGUOUS_ELSE_BLOCKER_ \
  switch (::doppio::CountCheck())     \
  case 0:                             \
  default:  // NOLINT

#endif  // DOPPIO_TESTS_TESTING_COUNT_CHECKS_H_

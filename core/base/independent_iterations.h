// Promises the compiler that the iterations of the following loop do not depend on each other
// through memory, so that it vectorises the loop without run-time checks.
#ifndef DOPPIO_CORE_BASE_INDEPENDENT_ITERATIONS_H_
#define DOPPIO_CORE_BASE_INDEPENDENT_ITERATIONS_H_

#ifdef __clang__
#define DOPPIO_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define DOPPIO_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

#endif  // DOPPIO_CORE_BASE_INDEPENDENT_ITERATIONS_H_

// Makes a failing case small.
#ifndef DOPPIO_TESTS_RANDOM_SHRINK_H_
#define DOPPIO_TESTS_RANDOM_SHRINK_H_

#include <functional>

#include "tests/random/random_case.h"

namespace doppio {

// How long to look for smaller cases.
struct ShrinkLimits {
  int tries = 400;  // calls of `fails`
  double seconds = 240;
};

// Returns the smallest case found for which `fails` is true, by leaving out layers, fields, extents
// and iterations of `random_case`, for which it is true. Most tries are cases that the program
// refuses; `fails` must be false for them.
RandomCase Shrink(RandomCase random_case, const std::function<bool(const RandomCase&)>& fails,
                  const ShrinkLimits& limits = {});

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_SHRINK_H_

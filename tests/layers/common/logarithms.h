// Logarithms that make expected losses whole numbers or short fractions.
#ifndef DOPPIO_TESTS_LAYERS_COMMON_LOGARITHMS_H_
#define DOPPIO_TESTS_LAYERS_COMMON_LOGARITHMS_H_

#include <cmath>

namespace doppio {

inline const double kLn2 = std::log(2.0), kLn3 = std::log(3.0), kLn10 = std::log(10.0);

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_COMMON_LOGARITHMS_H_

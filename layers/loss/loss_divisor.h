// The divisor of a loss as a function of how many labels count, for code that knows that number
// only on the device. loss_normalizer.h makes it.
#ifndef DOPPIO_LAYERS_LOSS_LOSS_DIVISOR_H_
#define DOPPIO_LAYERS_LOSS_LOSS_DIVISOR_H_

#include <cstdint>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

struct LossDivisor {
  double fixed = 1, per_valid = 0;
  double least = 1;
  double ranks = 1;

  DOPPIO_HD double operator()(int64_t valid) const {
    const double all = fixed + per_valid * static_cast<double>(valid);
    return (all < least ? least : all) / ranks;
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LOSS_DIVISOR_H_

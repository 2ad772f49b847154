// The divisor of a loss as a function of the number of labels that count, for code that knows this
// number only on the device. Made by LossNormalizer::DivisorOf (loss_normalizer.h).
#ifndef DOPPIO_LAYERS_LOSS_LOSS_DIVISOR_H_
#define DOPPIO_LAYERS_LOSS_LOSS_DIVISOR_H_

#include <cstdint>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

// The divisor is max(fixed + per_valid * valid, least) / ranks.
struct LossDivisor {
  double fixed = 1, per_valid = 0;
  double least = 1;
  double ranks = 1;

  // Returns the divisor for `valid` labels that count, on all ranks together.
  DOPPIO_HD double operator()(int64_t valid) const {
    const double all = fixed + per_valid * static_cast<double>(valid);
    return (all < least ? least : all) / ranks;
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LOSS_DIVISOR_H_

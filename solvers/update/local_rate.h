// Learning rate of a whole parameter, computed from the norms of its values and of its gradient or
// update direction. CPU and GPU call the same function.
#ifndef DOPPIO_SOLVERS_UPDATE_LOCAL_RATE_H_
#define DOPPIO_SOLVERS_UPDATE_LOCAL_RATE_H_

#include <cmath>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

// The factor on a parameter's learning rate that depends on its norms: the local rate
// eta ||w|| / (||g|| + decay ||w||), or 1 if a norm is 0. g is the gradient after clipping and
// division by iter_size and the loss scale, before weight decay, averaged over all replicas.
//
// Sources:
// - LARS: You, Gitman, Ginsburg, "Large Batch Training of Convolutional Networks", 2017, eq. 6
// - LARC, NVCaffe 0.17.4: eta = larc_eta (1 - momentum), decay = 0
// - local_lr_auto, Intel Caffe 1.1: eta = local_gw_ratio, decay = weight_decay
//
// As in these sources, the local rate replaces lr_mult, unless lr_mult is 0. For rules with a trust
// ratio (rules.h), g is the direction of the update, and lr_mult still applies.
struct LocalRate {
  bool on = false;
  bool clip = false;  // use the smaller of the local and the global rate instead of their product
  bool lr_mult = false;  // also multiply by the parameter's lr_mult
  double eta = 1, decay = 0;
};

// Returns the LocalRate of rules with a trust ratio.
inline LocalRate TrustRatio() {
  LocalRate local;
  local.on = local.lr_mult = true;
  return local;
}

// Sums of squares over a parameter or a part of one.
struct Norms {
  double values, gradients;  // of the gradients, or of the directions for rules with a trust ratio
  DOPPIO_HD Norms operator+(const Norms& other) const {
    return {values + other.values, gradients + other.gradients};
  }
};

// Returns the rate that replaces rate * lr_mult.
DOPPIO_HD inline double RateOf(const LocalRate& local, double rate, double lr_mult,
                               const Norms& norms) {
  if (!(lr_mult > 0)) return rate * lr_mult;
  const double w = std::sqrt(norms.values), g = std::sqrt(norms.gradients);
  const double ratio = w > 0 && g > 0 ? local.eta * w / (g + local.decay * w) : 1;
  if (local.clip) return ratio < rate ? ratio : rate;
  return rate * ratio * (local.lr_mult ? lr_mult : 1);
}

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_LOCAL_RATE_H_

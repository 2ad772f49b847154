// The rate of a whole parameter from the norms of its values and its gradient, or of where an
// update would take it. The same function on CPU and GPU.
#ifndef DOPPIO_SOLVERS_UPDATE_LOCAL_RATE_H_
#define DOPPIO_SOLVERS_UPDATE_LOCAL_RATE_H_

#include <cmath>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

// eta ||w|| / (||g|| + decay ||w||), or 1 where a norm is 0; g after clipping, division by
// iter_size and by the loss scale, before weight decay; of several replicas, of their mean. LARS,
// You, Gitman, Ginsburg, "Large Batch Training of Convolutional Networks", 2017, eq. 6; LARC in
// NVCaffe 0.17.4, where eta = larc_eta (1 - momentum) and decay = 0, and local_lr_auto in Intel
// Caffe 1.1, where eta = local_gw_ratio and decay = weight_decay. As in these, it takes the place
// of lr_mult, unless that is 0. With a rule's trust ratio (rules.h): g is where the update goes,
// and lr_mult counts.
struct LocalRate {
  bool on = false;
  bool clip = false;     // the less of this and the rate, instead of their product
  bool lr_mult = false;  // the rate is multiplied by it as well
  double eta = 1, decay = 0;
};

// The LocalRate of rules with a trust ratio.
inline LocalRate TrustRatio() {
  LocalRate local;
  local.on = local.lr_mult = true;
  return local;
}

// What takes the place of rate * lr_mult; the norms are given as sums of squares.
DOPPIO_HD inline double RateOf(const LocalRate& local, double rate, double lr_mult, double values,
                               double gradients) {
  if (!(lr_mult > 0)) return rate * lr_mult;
  const double w = std::sqrt(values), g = std::sqrt(gradients);
  const double ratio = w > 0 && g > 0 ? local.eta * w / (g + local.decay * w) : 1;
  if (local.clip) return ratio < rate ? ratio : rate;
  return rate * ratio * (local.lr_mult ? lr_mult : 1);
}

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_LOCAL_RATE_H_

// The updates of BN's running statistics, the same on all devices, as functions of a channel.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BN_STATISTICS_H_
#define DOPPIO_LAYERS_NORMALIZATION_BN_STATISTICS_H_

#include <cstdint>

#include "core/base/host_device.h"

namespace doppio {

// Moves the running statistics towards those of a batch. `batch` has the order of BatchNorm's
// parameters: sums of the means, sums of the unbiased variances, and the weight of the sums. The
// weight must be 1, so that the sums are the statistics themselves.
template <class T>
struct FollowStatistics {
  int64_t channels;
  const T* batch;  // after one forward pass that began with zeros
  // The momentum, 1 - momentum, and the ratio of the biased to the unbiased variance.
  T keep, take, biased;
  T* mean;
  T* variance;
  DOPPIO_HD void operator()(int64_t c) const {
    mean[c] = keep * mean[c] + take * batch[c];
    variance[c] = keep * variance[c] + take * biased * batch[channels + c];
  }
};

// Sets the weight of BatchNorm's sums to 1, so that the sums are the statistics themselves.
template <class T>
struct SetWeight {
  T* weight;
  DOPPIO_HD void operator()(int64_t) const { *weight = 1; }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BN_STATISTICS_H_

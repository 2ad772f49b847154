// The upkeep of BN's running statistics, the same on every device: functions of a channel.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BN_STATISTICS_H_
#define DOPPIO_LAYERS_NORMALIZATION_BN_STATISTICS_H_

#include <cstdint>

#include "core/base/host_device.h"

namespace doppio {

// What BatchNorm keeps, in the order of its blobs: sums of means and of unbiased variances and,
// behind them, their weight. So weight 1 says that the sums are the statistics.
template <class T>
struct FollowStatistics {
  int64_t channels;
  const T* batch;  // after one pass that began with zeros
  T keep, take, biased;
  T* mean;
  T* variance;
  DOPPIO_HD void operator()(int64_t c) const {
    mean[c] = keep * mean[c] + take * batch[c];
    variance[c] = keep * variance[c] + take * biased * batch[channels + c];
  }
};

template <class T>
struct SetWeight {
  T* weight;
  DOPPIO_HD void operator()(int64_t) const { *weight = 1; }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BN_STATISTICS_H_

#include "core/device/launch.cuh"
#include "layers/normalization/bn_cuda.h"

namespace doppio {

void LaunchStatistics(const Gpu& gpu, int64_t n, const FollowStatistics<float>& body) {
  ForEachIndex(gpu, n, "BN's statistics", body);
}

void LaunchStatistics(const Gpu& gpu, int64_t n, const SetWeight<float>& body) {
  ForEachIndex(gpu, n, "BN's statistics", body);
}

}  // namespace doppio

// Spatial pyramid pooling (He et al., "Spatial Pyramid Pooling in Deep Convolutional Networks for
// Visual Recognition", 2014): level l pools into 2^l x 2^l windows, all levels side by side.
#ifndef DOPPIO_LAYERS_POOLING_SPP_H_
#define DOPPIO_LAYERS_POOLING_SPP_H_

#include <algorithm>
#include <string>
#include <vector>

#include "layers/pooling/plain_pooling_kernel.h"
#include "layers/pooling/pooling_geometry.h"

namespace doppio {

namespace internal {

// As Caffe: windows of equal size side by side, the padding that they need half on each side.
inline PoolingAxis PyramidAxis(const LayerSpec& spec, int64_t input, int64_t windows) {
  PoolingAxis axis;
  axis.input = input;
  axis.kernel = axis.stride = (input + windows - 1) / windows;
  axis.pad = (axis.kernel * windows - input + 1) / 2;
  if (axis.pad >= axis.kernel) {
    throw spec.Mistake("spp_param.pyramid_height",
                       "a level of the pyramid has " + std::to_string(windows) +
                           " windows along an axis of " + std::to_string(input) +
                           "; use a smaller pyramid_height");
  }
  axis.output = CountWindows(axis, false);
  return axis;
}

}  // namespace internal

inline std::vector<PlainPooling> ReadPyramid(const LayerSpec& spec, const Shape& bottom) {
  const SPPParameter& p = spec.param.spp_param();
  constexpr int64_t kMostLevels = 30;
  if (bottom.rank() != 4) {
    throw spec.Mistake("bottom",
                       "SPP takes a bottom of 4 axes (batch, channels, height, width); found " +
                           bottom.ToString());
  }
  if (p.pyramid_height() < 1 || p.pyramid_height() > kMostLevels) {
    throw spec.Mistake("spp_param.pyramid_height", "pyramid_height must be 1 to " +
                                                       std::to_string(kMostLevels) + ", found " +
                                                       std::to_string(p.pyramid_height()));
  }
  std::vector<PlainPooling> levels;
  int64_t in_sample = 0;
  for (uint32_t level = 0; level < p.pyramid_height(); ++level) {
    PlainPooling pooling;
    pooling.by = PoolByMethod(p.pool(), spec.phase());
    pooling.g.planes = bottom[0] * bottom[1];
    pooling.g.h = internal::PyramidAxis(spec, bottom[2], int64_t{1} << level);
    pooling.g.w = internal::PyramidAxis(spec, bottom[3], int64_t{1} << level);
    if (p.pool() == SPPParameter::STOCHASTIC && pooling.g.h.pad + pooling.g.w.pad > 0) {
      throw spec.Mistake("spp_param.pool", "STOCHASTIC pooling has no padding, which " +
                                               std::to_string(int64_t{1} << level) +
                                               " windows over " + std::to_string(bottom[2]) + "x" +
                                               std::to_string(bottom[3]) + " need; use MAX or AVE");
    }
    pooling.channels = bottom[1];
    pooling.top_first = in_sample;
    pooling.random = Random(spec.options.seed, Stream("pooling", spec.name()));
    in_sample += bottom[1] * pooling.g.h.output * pooling.g.w.output;
    levels.push_back(pooling);
  }
  for (PlainPooling& pooling : levels) pooling.top_sample = in_sample;
  return levels;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_POOLING_SPP_H_

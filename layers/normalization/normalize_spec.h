// What the file says to Normalize, for its kernels on every device.
#ifndef DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_SPEC_H_
#define DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_SPEC_H_

#include "core/net/spec/spec.h"
#include "core/tensor/shape.h"
#include "layers/normalization/normalize_shape.h"

namespace doppio {

// `bottom` has two axes or more.
inline NormalizeShape NormalizeShapeOf(const LayerSpec& spec, const Shape& bottom) {
  const NormalizeParameter& param = spec.param.norm_param();
  NormalizeShape s;
  s.channels = bottom[1];
  s.inner = bottom.count(2);
  s.groups = param.across_spatial() ? SoftmaxShape{bottom[0], bottom.count(1), 1}
                                    : SoftmaxShape{bottom[0], s.channels, s.inner};
  s.shared = param.channel_shared();
  s.eps = static_cast<double>(param.eps());
  return s;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_SPEC_H_

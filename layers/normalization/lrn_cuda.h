// LRN on a GPU, in plain arguments: what lrn_cuda.cc asks of lrn.cu.
#ifndef DOPPIO_LAYERS_NORMALIZATION_LRN_CUDA_H_
#define DOPPIO_LAYERS_NORMALIZATION_LRN_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"
#include "layers/normalization/lrn_ops.h"

namespace doppio {

struct LrnShape {
  // Windows that reach so far at most to both sides leave backward to form their sums on the fly.
  static constexpr int kReach = 2;

  LrnWindow window;
  int64_t images, channels, height, width;
  bool channels_last;  // else plain, as windows within a channel always are
  DType type;          // as bottom, top and their gradients are stored
  int64_t count() const { return images * channels * height * width; }
  // False where the windows are so small that backward forms what they add up on the fly, which
  // reads each tensor once.
  bool stores_ratios() const { return window.within || window.half > kReach; }
  // True where backward needs no scale from forward.
  bool forms_scales_again() const { return channels_last && !stores_ratios(); }
};

// `scale`, in the order of the bottom, may be null where no Backward follows or
// shape.forms_scales_again().
void LaunchLrnForward(const Gpu& gpu, const LrnShape& shape, const LrnOps<float>& ops,
                      const void* x, void* y, float* scale);
// `ratio`: scratch for as many floats as the bottom has where shape.stores_ratios(), else null.
// `scale`: what forward wrote; null where shape.forms_scales_again(). `dx` is none of the others.
void LaunchLrnBackward(const Gpu& gpu, const LrnShape& shape, const LrnOps<float>& ops,
                       const void* x, const void* dy, const float* scale, float* ratio, void* dx);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_LRN_CUDA_H_

// What Normalize divides by one norm, and which factor an element has: the same on every device.
#ifndef DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_SHAPE_H_
#define DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_SHAPE_H_

#include "core/base/random.h"  // DOPPIO_HD
#include "layers/activation/softmax_shape.h"

namespace doppio {

struct NormalizeShape {
  SoftmaxShape groups;  // the "classes" of a position are what one norm is of
  int64_t channels = 1, inner = 1;
  bool shared = true;  // one factor for all channels
  double eps = 0;      // added to the sum of squares

  DOPPIO_HD int64_t Factor(int64_t i) const { return shared ? 0 : i / inner % channels; }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_SHAPE_H_

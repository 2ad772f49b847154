// The form of Normalize, which its kernels on every device read.
#ifndef DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_FORM_H_
#define DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_FORM_H_

#include "core/base/random.h"  // DOPPIO_HD
#include "layers/activation/softmax_shape.h"

namespace doppio {

struct NormalizeForm {
  SoftmaxShape groups;  // each position is a group; its "classes" share a norm
  int64_t channels = 1, inner = 1;
  bool shared = true;  // one factor for all channels, instead of one per channel
  double eps = 0;      // added to the sum of squares

  // Returns the index of element i's factor.
  DOPPIO_HD int64_t Factor(int64_t i) const { return shared ? 0 : i / inner % channels; }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_FORM_H_

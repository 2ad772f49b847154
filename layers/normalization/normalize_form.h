// What Normalize's kernels need of the file and of the bottom's shape.
#ifndef DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_FORM_H_
#define DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_FORM_H_

#include "core/base/random.h"  // DOPPIO_HD
#include "layers/activation/softmax_shape.h"

namespace doppio {

struct NormalizeForm {
  SoftmaxShape groups;  // one norm is that of the "classes" of a position
  int64_t channels = 1, inner = 1;
  bool shared = true;  // one factor for all channels
  double eps = 0;      // added to the sum of squares

  // The index of element i's factor.
  DOPPIO_HD int64_t Factor(int64_t i) const { return shared ? 0 : i / inner % channels; }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_FORM_H_

// The form of LayerNorm, GroupNorm and InstanceNorm, which their kernels on every device read.
#ifndef DOPPIO_LAYERS_NORMALIZATION_GROUP_NORM_FORM_H_
#define DOPPIO_LAYERS_NORMALIZATION_GROUP_NORM_FORM_H_

#include <cstddef>
#include <cstdint>

#include "core/base/host_device.h"

namespace doppio {

// Each of `rows` contiguous runs of `length` elements has a mean and a variance. Element i of the
// bottom has factor and bias number i / inner % factors.
struct GroupNormForm {
  int64_t rows = 0, length = 0;
  int64_t factors = 0, inner = 1;
  bool scale = true, bias = true;  // has learned factors, learned biases
  float eps = 0;                   // added to the variance

  int64_t count() const { return rows * length; }
  // Returns true if all rows have the same factors, one for each element.
  bool per_element() const { return inner == 1 && factors == length; }
  DOPPIO_HD int64_t Factor(int64_t i) const { return i / inner % factors; }
  size_t bias_param() const { return scale ? 1 : 0; }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_GROUP_NORM_FORM_H_

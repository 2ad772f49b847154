// The form of MVN, which its kernels on every device read.
#ifndef DOPPIO_LAYERS_NORMALIZATION_MVN_FORM_H_
#define DOPPIO_LAYERS_NORMALIZATION_MVN_FORM_H_

#include <cstdint>

namespace doppio {

// MVN normalises each of `rows` contiguous runs of `length` elements.
struct MvnForm {
  int64_t rows = 0, length = 0;
  bool scales = true;  // scales to variance 1; if false, only subtracts the mean
  float eps = 0;       // added to the standard deviation
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_MVN_FORM_H_

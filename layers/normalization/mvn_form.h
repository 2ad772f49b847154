// What MVN's kernels need of the file and of the bottom's shape.
#ifndef DOPPIO_LAYERS_NORMALIZATION_MVN_FORM_H_
#define DOPPIO_LAYERS_NORMALIZATION_MVN_FORM_H_

#include <cstdint>

namespace doppio {

// MVN normalises each of `rows` contiguous runs of `length` elements.
struct MvnForm {
  int64_t rows = 0, length = 0;
  bool scales = true;  // to variance 1; else it only subtracts the mean
  float eps = 0;       // added to the standard deviation
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_MVN_FORM_H_

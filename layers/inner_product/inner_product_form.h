// What InnerProduct's kernels need of the file and of the bottom's shape.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_INNER_PRODUCT_FORM_H_
#define DOPPIO_LAYERS_INNER_PRODUCT_INNER_PRODUCT_FORM_H_

#include <cstdint>

namespace doppio {

// The bottom seen as rows x inputs, times the weights, which are outputs x inputs, or inputs x
// outputs with `transpose`.
struct InnerProductForm {
  bool transpose = false, bias = false;
  int axis = 1;  // the first of the axes that make the inputs, counted from the front
  int64_t rows = 0, inputs = 0, outputs = 0;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_INNER_PRODUCT_FORM_H_

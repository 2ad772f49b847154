// The form of InnerProduct: what its kernels need from the net file and the bottom's shape.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_INNER_PRODUCT_FORM_H_
#define DOPPIO_LAYERS_INNER_PRODUCT_INNER_PRODUCT_FORM_H_

#include <cstdint>

namespace doppio {

// The bottom is a matrix of rows x inputs. It is multiplied by the weights, which are outputs x
// inputs, or inputs x outputs with `transpose`.
struct InnerProductForm {
  bool transpose = false, bias = false;
  // The first axis that belongs to the inputs; never negative.
  int axis = 1;
  int64_t rows = 0, inputs = 0, outputs = 0;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_INNER_PRODUCT_FORM_H_
